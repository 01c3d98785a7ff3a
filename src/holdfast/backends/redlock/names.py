"""Which names are in use on a quorum: found by SCAN on every server, then looked at on all.

A generator that says what it wants next and is sent the answer, so both wires can follow it. A
server that cannot be asked is passed over as long as a majority can: a name that is held is known
to one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from holdfast.backends.redis.requests import command
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.node import Node
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import ListNames, Look, Seen
from holdfast.values import LockInfo

AT_ONCE = 500


class Scan(NamedTuple):
    """Send a plain command to one server."""

    node: Node
    data: bytes


def names_in_use(
    council: Council, request: ListNames
) -> Generator[Scan | Sequence[Look], Any, Seen]:
    """List the names after ``request.after``, in the order of their bytes."""
    names: set[str] = set()
    failures: list[BackendUnavailable] = []
    asked = council.asked()
    for node in council.nodes:
        if node in asked:
            error = yield from _scan(council, node, request, names)
        else:  # nobody waits for it again
            error = BackendUnavailable(f"{node.name}: {node.fault}", backend="redlock")
        if error is not None:
            failures.append(error)
    if len(failures) > council.terms.spare:
        raise failures[0]
    ordered = sorted((name for name in names if name > request.after), key=str.encode)
    found: list[LockInfo] = []
    for at in range(0, len(ordered), AT_ONCE):
        seen = yield [Look(name) for name in ordered[at : at + AT_ONCE]]
        for reply in seen:
            if isinstance(reply, BackendUnavailable):
                raise reply
            found.extend(one for one in reply.locks if one.holders or one.queue)
    return Seen(tuple(found))


def _scan(
    council: Council, node: Node, request: ListNames, names: set[str]
) -> Generator[Scan | Sequence[Look], Any, BackendUnavailable | None]:
    keys = council.post.keys
    pattern = keys.pattern(request.prefix)
    cursor = b"0"
    while True:
        reply = yield Scan(node, command("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
        if isinstance(reply, BackendUnavailable):
            return reply
        if isinstance(reply, Exception):
            return BackendUnavailable(f"{node.name}: {reply}", backend="redlock")
        cursor, found = reply
        names.update(keys.name_of(key) for key in found)
        if cursor == b"0":
            return None
