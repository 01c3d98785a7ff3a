"""Which names are in use: found by SCAN on every master, a thousand keys a step. No I/O here.

A generator that says what it wants next and is sent the answer, so both wires can follow it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from holdfast.backends.redis import faults
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Where
from holdfast.rules.messages import ListNames, Look, Seen
from holdfast.values import LockInfo

AT_ONCE = 500
"""How many names are looked at together."""


class Find(NamedTuple):
    """Give all servers."""


class Scan(NamedTuple):
    """Send a plain command to one server."""

    where: Where
    data: bytes


class Looks(NamedTuple):
    """Look at these names."""

    requests: Sequence[Look]


Step = Find | Scan | Looks


def listing(office: Office, request: ListNames) -> Generator[Step, list[Any], Seen]:
    """List the names after ``request.after``, in the order of their bytes.

    All of them, whatever the limit: SCAN has no order, so a page costs as much as the whole.
    """
    names: set[str] = set()
    for where in (yield Find()):
        yield from _scan(office, where, request, names)
    found: list[LockInfo] = []
    ordered = sorted((name for name in names if name > request.after), key=str.encode)
    for at in range(0, len(ordered), AT_ONCE):
        seen = yield Looks([Look(name) for name in ordered[at : at + AT_ONCE]])
        found.extend(one for reply in seen for one in reply.locks if one.holders or one.queue)
    return Seen(tuple(found))


def _scan(
    office: Office, where: Where, request: ListNames, names: set[str]
) -> Generator[Step, list[Any], None]:
    pattern = office.keys.pattern(request.prefix)
    cursor = b"0"
    while True:
        (reply,) = yield Scan(where, command("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
        if isinstance(reply, Exception):
            raise faults.refused(office.shown, str(reply))
        cursor, keys = reply
        names.update(office.keys.name_of(key) for key in keys)
        if cursor == b"0":
            return
