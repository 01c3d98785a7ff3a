"""Records as flows use them: look, replace what was seen, and try again with what is there now.

``once`` and ``singleton`` are made of the first two; ``update`` is the story of ``cell``. A swap
carries an id, so a reply that never came is asked for again and never done twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any, NamedTuple, Protocol

from holdfast.durations import readable
from holdfast.errors import BackendUnavailable, Conflict, LockLost, Misuse
from holdfast.flows.book import Ticket
from holdfast.flows.content import packed, unpacked
from holdfast.flows.explain import nonsense
from holdfast.flows.session import Session, ask_again, ask_until
from holdfast.rules import backoff
from holdfast.rules.messages import Refused
from holdfast.rules.record_messages import Entry, Get, Moved, Swap, Swapped
from holdfast.values import Space, printable

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.1
"""How long ``update`` pauses after losing to somebody else: swaps are short, so pauses are too."""


BEGUN_FOR = 3600 * 1_000_000
"""How long ``once`` and ``singleton`` remember who began, and a cell who deleted it: whoever held
the lease before, and slept for that long between its last look at it and its write, is still
refused. Longer would be litter."""


class Versioned(NamedTuple):
    """A value and its version. Where there is none they are ``None`` and 0."""

    value: Any
    version: int


class Fencing(Protocol):
    """A lease, as far as a write under it has to know."""

    @property
    def name(self) -> str:
        """What is held."""
        ...

    @property
    def token(self) -> int:
        """The fencing number."""
        ...

    @property
    def remaining(self) -> float:
        """Seconds until its deadline."""
        ...

    def check(self) -> None:
        """Raise ``LockLost`` unless the lease is good."""
        ...


class Write(NamedTuple):
    """How a cell is written to: how long the value lives (microseconds), and under which lease."""

    name: str
    keep: int | None
    under: Fencing | None


async def look(session: Session, space: Space, name: str) -> Entry:
    """Show a record as it stands."""
    session.refuse_if_closed()
    by = session.runtime.now() + session.call_limit
    reply, _ = await ask_until(session, Get(space, name), by)
    if not isinstance(reply, Entry):
        raise nonsense(session, reply)
    return reply


async def replace(
    session: Session,
    space: Space,
    name: str,
    value: bytes | None,
    *,
    if_version: int,
    keep: int | None = None,
    under: Fencing | None = None,
) -> Swapped | Moved:
    """Put ``value`` in the place of the version that was seen, or say what is there instead.

    Under a lease it is good for as long as that is: an outage is ridden over until its deadline.
    """
    session.refuse_if_closed()
    longest, fence = session.call_limit, 0
    if under is not None:
        under.check()  # what a pause after this line could spoil, the fence refuses
        longest, fence = max(longest, under.remaining), under.token
    request = Swap(space, name, session.new_id(), value, if_version, keep, fence)
    now = session.runtime.now()
    by = now + longest
    doubtful = False
    try:
        reply = await session.wire.ask(request, now + session.call_limit)
    except BackendUnavailable as error:
        ticket = Ticket(name, request.swap_id, 0.0)
        reply, _ = await ask_again(session, request, by, error, ticket)
        doubtful = ticket.doubtful
    match reply:
        case Moved(certain=False) if doubtful:
            raise _unsure(session, name)
        case Swapped() | Moved():
            return reply
        case Refused():
            raise Misuse(f"{printable(name)!r} cannot be written like this: {reply.detail}.")
        case _:
            raise nonsense(session, reply)


async def get(session: Session, name: str) -> Versioned:
    """Read a cell."""
    entry = await look(session, "cell", name)
    return Versioned(unpacked(entry.value, session.backend), entry.version)


async def swap(session: Session, write: Write, value: object, if_version: int) -> int:
    """Write to a cell whose version is still the one that was seen; give the new version."""
    reply = await _write(session, write, packed(value, "value"), if_version)
    if isinstance(reply, Moved):
        raise _moved(write.name, if_version, reply)
    return reply.version


async def update(
    session: Session,
    write: Write,
    change: Callable[[Any], Awaitable[object]],
    wait: float | None,
) -> Versioned:
    """Write what ``change`` makes of the value, however often others come first, until ``wait``."""

    async def made(entry: Entry) -> tuple[object, bytes]:
        value = await change(unpacked(entry.value, session.backend))
        return value, packed(value, "value")

    value, version = await _insist(session, write, made, wait)
    return Versioned(value, version)


async def delete(
    session: Session, write: Write, if_version: int | None, wait: float | None
) -> bool:
    """Delete the value, or only that version of it; say whether there was one."""
    if if_version is not None:
        reply = await _write(session, write, None, if_version)
        if isinstance(reply, Moved):
            raise _moved(write.name, if_version, reply)
        return if_version > 0

    async def nothing(entry: Entry) -> tuple[object, bytes | None]:
        return entry.version > 0, None

    there_was, _ = await _insist(session, write, nothing, wait)
    return bool(there_was)


async def _insist(
    session: Session,
    write: Write,
    made: Callable[[Entry], Awaitable[tuple[object, bytes | None]]],
    wait: float | None,
) -> tuple[object, int]:
    """Write what is made of the value; where somebody was quicker, make it of theirs and retry."""
    runtime = session.runtime
    started_at = runtime.now()
    give_up_at = inf if wait is None else started_at + wait
    entry = await look(session, "cell", write.name)
    tries = 0
    while True:
        value, data = await made(entry)
        if data is None and entry.version == 0:
            return value, 0
        reply = await _write(session, write, data, entry.version)
        if isinstance(reply, Swapped):
            return value, reply.version
        if reply.why == "fence":
            raise _moved(write.name, entry.version, reply)
        tries += 1
        # Once at once, with what the reply has told; after that others get out of the way first.
        span = 0.0 if tries == 1 else _pause(tries - 2, runtime.dice())
        if runtime.now() + span >= give_up_at:
            waited = readable(runtime.now() - started_at)
            raise Conflict(
                f"the cell {printable(write.name)!r} was changed by others each time, in"
                f" {tries} tries and {waited}; it has version {reply.entry.version} now. Wait for"
                " longer, or write to it under a lock.",
                name=write.name,
                version=reply.entry.version,
            )
        entry = reply.entry
        if span:
            await runtime.sleep(span)
            entry = await look(session, "cell", write.name)


def _pause(attempt: int, dice: float) -> float:
    return backoff.pause(attempt, dice, FIRST_PAUSE, LONGEST_PAUSE)


async def _write(
    session: Session, write: Write, data: bytes | None, if_version: int
) -> Swapped | Moved:
    name, keep, under = write
    if data is None:  # under a lease, whoever held it before is refused for that long
        keep = None if under is None else BEGUN_FOR
    return await replace(session, "cell", name, data, if_version=if_version, keep=keep, under=under)


def _moved(name: str, if_version: int, reply: Moved) -> Conflict:
    shown, now = printable(name), reply.entry.version
    if reply.why == "fence":
        text = (
            f"the cell {shown!r} was written under a later lease (token {reply.entry.fence}):"
            " this one is over. Stop the work it protected."
        )
    else:
        has = f"version {now}" if now else "no value"
        saw = f"version {if_version}" if if_version else "no value"
        text = f"the cell {shown!r} has {has}, not {saw} as you saw it. Read it and decide anew."
    return Conflict(text, name=name, version=now)


def overtaken(what: str, under: Fencing, fence: int) -> LockLost:
    """Say that somebody with a later lease has been at it: this lease is over."""
    reason = f"it was begun anew under a later lease (token {fence})"
    return LockLost(
        f"the lease on {what} (token {under.token}) is lost: {reason}. Nothing was stored; stop the"
        " work it protected.",
        name=under.name,
        token=under.token,
        reason=reason,
    )


def _unsure(session: Session, name: str) -> BackendUnavailable:
    return BackendUnavailable(
        f"{session.backend} did not answer when {printable(name)!r} was written, and by now it"
        " cannot be told whether that was done: read it and decide anew.",
        backend=session.backend,
        outcome="unknown",
        transient=False,
    )
