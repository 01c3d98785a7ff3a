"""``holdfast show``: everything there is to see of one name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put, put_json
from holdfast.durations import readable
from holdfast.values import Kind, LockInfo, NameSpace, Place, Tenure, printable


@click.command("show")
@options.name
@options.space
@options.as_json
@options.where
def command(*, name: str, space: NameSpace, as_json: bool, where: Where) -> int:
    """Show who holds the lock NAME, since when, until when, and who waits for it."""
    with connect(where) as client:
        info = client.show(name, space=space)
    if as_json:
        put_json(info.as_json())
    else:
        for line in lines(info):
            put(line)
    return codes.DONE


def lines(info: LockInfo) -> Iterator[str]:
    """Describe a lock for a person."""
    kind = info.kind if info.space == "lock" else info.space
    yield f"{printable(info.name)}: {kind}, {_state(info)}"
    for held in info.holders:
        yield from _tenure(held, info.kind)
    if not info.held and info.token:
        yield f"  last token {info.token}"
    for place, waiter in enumerate(info.queue, 1):
        yield _waiter(place, waiter, info.kind)
    for vote in info.votes:
        yield f"  vote of {printable(vote)}"


def _state(info: LockInfo) -> str:
    if not info.held:
        return "free"
    if info.kind == "semaphore":
        return f"{sum(held.weight for held in info.holders)} of {info.capacity} permits held"
    return "held"


def _tenure(held: Tenure, kind: Kind) -> Iterator[str]:
    apart = ", without a process" if held.detached else ""
    slots = f", {_slots(held.slots)}" if held.slots else ""
    how = _side(held.weight, read="read by", write="written by") if kind == "rwlock" else "held by"
    yield f"  {how} {held.holder}{slots}{apart}"
    if held.token:
        yield f"    token {held.token}"
        renewable = "" if held.broken else " unless renewed"
        yield f"    since {_moment(held.since)}, expires in {readable(held.expires_in)}{renewable}"
    else:  # another program has it, and only its session can give it back
        yield f"    since {_moment(held.since)} or later, until its session ends"
    if held.session:
        yield f"    {held.session}"
    if held.metadata:
        yield f"    metadata {printable(held.metadata)}"
    if held.broken:
        yield f"    broken: {printable(held.broken)}"


def _waiter(place: int, waiter: Place, kind: Kind) -> str:
    wants = ""
    if kind == "rwlock":
        wants = _side(waiter.weight, read=" to read", write=" to write")
    elif waiter.weight > 1:
        wants = f" for {waiter.weight} permits"
    session = f", {waiter.session}" if waiter.session else ""
    return f"  {place}. in line{wants}: {waiter.holder}, since {_moment(waiter.since)}{session}"


def _side(weight: int, *, read: str, write: str) -> str:
    return read if weight == 1 else write


def _slots(slots: tuple[int, ...]) -> str:
    return f"slot{'s' if len(slots) > 1 else ''} {', '.join(map(str, slots))}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
