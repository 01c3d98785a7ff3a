"""The journal of an election: who led, in the order of their tokens, as far back as it goes.

One record beside the name. A leader puts itself down *before* its body may start (``stand``), so
whoever did anything as a leader is in it; and since the next one is granted the name only after
that, a journal that is read later than a token was seen has everybody before that token. Observers
read it when the last token has moved (``lead``). It is bounded, and goes by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.flows.content import unreadable
from holdfast.flows.footing import Footing
from holdfast.flows.session import Session
from holdfast.flows.swap import look, overtaken, replace
from holdfast.rules.record_messages import Swapped
from holdfast.values import Holder, Tenure, called

FORM = b"1"
"""What a journal begins with; the rest is JSON."""

LONGEST = 100
"""How many tenures it has at most."""

LARGEST = 64 * 1024
"""How many bytes: with large metadata it goes back less far. The newest always fits."""

KEPT_FOR = 86_400 * 1_000_000
"""How long it is kept after the last change, as an idle name is: a day, in microseconds."""

ROUNDS = 5


class Line(NamedTuple):
    """One tenure, and whether nobody led right before it."""

    tenure: Tenure
    vacant: bool


async def put_down(session: Session, state: LeaseState) -> None:
    """Write the tenure of this lease down; ``LockLost`` if another has led since."""
    lease = Footing(session, state)
    entry = await look(session, "lead", state.name)
    for _ in range(ROUNDS):
        lines = (*read(entry.value, session.backend), _line(session, state))
        reply = await replace(
            session,
            "lead",
            state.name,
            written(lines),
            if_version=entry.version,
            keep=KEPT_FOR,
            under=lease,
        )
        if isinstance(reply, Swapped):
            lease.check()  # a late answer may come after the end of the lease: no body starts then
            return
        if reply.why == "fence":
            raise overtaken(f"the lead of {called(state.name)}", lease, reply.entry.fence)
        entry = reply.entry  # of one that was late, and wrote before us
    raise BackendUnavailable(
        f"the journal of {called(state.name)} keeps changing although this client leads: does"
        f" somebody else write to what holdfast keeps on {session.backend}?",
        backend=session.backend,
        transient=False,
    )


async def lines_of(session: Session, name: str) -> list[Line]:
    """Read who led ``name``, the earliest first."""
    return read((await look(session, "lead", name)).value, session.backend)


def written(lines: Sequence[Line]) -> bytes:
    """Write the newest of these tenures, as many as there is room for."""
    ordered = sorted(lines, key=lambda line: line.tenure.token)
    cells = [_packed(line) for line in ordered[-LONGEST:]]
    size, first = len(FORM) + 2, len(cells)
    while first and (size + len(cells[first - 1]) + 1 <= LARGEST or first == len(cells)):
        first -= 1
        size += len(cells[first]) + 1
    return FORM + b"[" + b",".join(cells[first:]) + b"]"


def read(value: bytes | None, backend: str) -> list[Line]:
    """Read what ``written`` wrote; nothing is an empty journal."""
    if value is None:
        return []
    if not value.startswith(FORM):
        raise unreadable(backend)
    return [_unpacked(*cells) for cells in json.loads(value[len(FORM) :])]


def _line(session: Session, state: LeaseState) -> Line:
    want = state.want
    tenure = Tenure(session.holder, state.token, want.weight, state.granted_at, 0.0, want.metadata)
    return Line(tenure, not state.handed)


def _packed(line: Line) -> bytes:
    tenure = line.tenure
    cells = (tenure.token, tenure.since, *tenure.holder, tenure.metadata, int(line.vacant))
    return json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode()


def _unpacked(token: int, since: float, *rest: Any) -> Line:
    *holder, metadata, vacant = rest
    return Line(Tenure(Holder(*holder), token, 1, since, 0.0, metadata), bool(vacant))
