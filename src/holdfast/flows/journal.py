"""The journal of an election: who led, in the order of their tokens, as far back as it goes.

One record beside the name. A leader puts itself down *before* its body may start (``stand``), so
whoever did anything as a leader is in it; and since the next one is granted the name only after
that, a journal that is read later than a token was seen has everybody before that token. Observers
read it when the last token has moved (``lead``). It is bounded, and goes by itself.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.flows.content import unreadable
from holdfast.flows.footing import Footing
from holdfast.flows.session import Session
from holdfast.flows.swap import look, overtaken, replace
from holdfast.rules.record_messages import Entry, Swapped
from holdfast.values import Holder, Tenure, called

FORM = b"1"
"""What a journal begins with. Each tenure is a line of JSON: a leader adds its own, unread."""

LONGEST = 32
"""How many tenures it has at most."""

LARGEST = 16 * 1024
"""How many bytes: with large metadata it goes back less far. The newest always fits."""

KEPT_FOR = 86_400 * 1_000_000
"""How long it is kept after the last change, as an idle name is: a day, in microseconds."""

ROUNDS = 5


class Line(NamedTuple):
    """One tenure, and whether nobody led right before it."""

    tenure: Tenure
    vacant: bool


async def put_down(session: Session, state: LeaseState, seen: Entry) -> None:
    """Write the tenure of this lease down; ``LockLost`` if another has led since.

    ``seen`` is the record as it was lately: who stood by has looked before, and writes at once.
    """
    lease, line = Footing(session, state), written(_line(session, state))
    entry = seen
    for _ in range(ROUNDS):
        try:
            reply = await replace(
                session,
                "lead",
                state.name,
                added(entry.value, line, session.backend),
                if_version=entry.version,
                keep=KEPT_FOR,
                under=lease,
            )
        except BackendUnavailable as error:
            if error.transient or error.outcome != "unknown":
                raise
            entry = await look(session, "lead", state.name)  # it is in there, or was not done
            if _has(entry, line):
                lease.check()
                return
            continue
        if isinstance(reply, Swapped):
            lease.check()  # a late answer may come after the end of the lease: no body starts then
            return
        if reply.why == "fence":
            raise overtaken(f"the lead of {called(state.name)}", lease, reply.entry.fence)
        entry = reply.entry
    raise BackendUnavailable(
        f"the journal of {called(state.name)} keeps changing although this client leads: does"
        f" somebody else write to what holdfast keeps on {session.backend}?",
        backend=session.backend,
        transient=False,
    )


def is_last(value: bytes | None, token: int) -> bool:
    """Whether the last who has put itself down is the one with this token."""
    return value is not None and value.rpartition(b"\n")[2].startswith(b"[%d," % token)


def _has(entry: Entry, line: bytes) -> bool:
    return entry.value is not None and line in entry.value.split(b"\n")


async def lines_of(session: Session, name: str) -> list[Line]:
    """Read who led ``name``, the earliest first."""
    return read((await look(session, "lead", name)).value, session.backend)


def added(value: bytes | None, line: bytes, backend: str) -> bytes:
    """Write one more line, and leave out the oldest where there is no room for all.

    Lines stay in the order of their tokens: the fence refuses whoever comes after a later one.
    """
    if value is None:
        return FORM + b"\n" + line
    form, *lines = value.split(b"\n")
    if form != FORM:
        raise unreadable(backend)
    lines = [*lines[1 - LONGEST :], line]
    size = len(FORM) + sum(map(len, lines)) + len(lines)
    first = 0
    while size > LARGEST and first < len(lines) - 1:
        size -= len(lines[first]) + 1
        first += 1
    return b"\n".join([FORM, *lines[first:]])


def read(value: bytes | None, backend: str) -> list[Line]:
    """Read what leaders wrote; nothing is an empty journal."""
    if value is None:
        return []
    form, *lines = value.split(b"\n")
    if form != FORM:
        raise unreadable(backend)
    return [_unpacked(*json.loads(line)) for line in lines]


def written(line: Line) -> bytes:
    """Write one tenure as a line: JSON has no line breaks of its own."""
    tenure = line.tenure
    cells = (tenure.token, tenure.since, *tenure.holder, tenure.metadata, int(line.vacant))
    return json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode()


def _line(session: Session, state: LeaseState) -> Line:
    want = state.want
    tenure = Tenure(session.holder, state.token, want.weight, state.granted_at, 0.0, want.metadata)
    return Line(tenure, not state.handed)


def _unpacked(token: int, since: float, *rest: Any) -> Line:
    *holder, metadata, vacant = rest
    return Line(Tenure(Holder(*holder), token, 1, since, 0.0, metadata), bool(vacant))
