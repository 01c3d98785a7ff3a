"""The journal of an election: who led, in the order of their tokens, as far back as it goes.

One record beside the name. A leader puts itself down while its body already works, and before it
gives the name back (``stand``); and since the next one is granted the name only after that, a
journal that is read later than a token was seen has everybody before that token who resigned. Who
was in line behind a leader that died too early to be in it puts that one down as well. Observers
read it when the last token has moved (``lead``). It is bounded, and goes by itself.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from holdfast.errors import BackendUnavailable, LockLost
from holdfast.flows.book import LeaseState
from holdfast.flows.content import unreadable
from holdfast.flows.explain import nonsense
from holdfast.flows.session import Session
from holdfast.flows.swap import look
from holdfast.ports import Wire
from holdfast.rules.record_messages import Entry, Get, Moved, Swap, Swapped
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
"""How often a leader writes what was true a moment ago: nobody else has a right to write."""


class Line(NamedTuple):
    """One tenure, and whether nobody led right before it."""

    tenure: Tenure
    vacant: bool


class Inscription:
    """The duty to put the tenure of one lease down.

    It writes only in the place of what it has seen, and is told what is there instead if that has
    changed. So done again, late, or by two at once, it makes one line.
    """

    _seen: Entry | None = None  # the newest that anybody who does it was told of

    def __init__(self, session: Session, state: LeaseState) -> None:
        self.state = state
        self._session = session
        want, since = state.want, state.granted_at
        ours = Tenure(session.holder, state.token, want.weight, since, 0.0, want.metadata)
        # Of those before us it is not known whether they were let in by somebody or found it free.
        before = [Line(one, vacant=False) for one in state.behind if one.token < state.token]
        self._lines = [*before, Line(ours, not state.handed)]

    async def do(self, wire: Wire, by: float) -> None:
        """Write it, if nobody has yet; ``LockLost`` if another has led since."""
        name, session = self.state.name, self._session
        entry = self._seen or await self._look(wire, by)
        for _ in range(ROUNDS):
            value = self._added(entry.value)
            if value is None:
                return
            fence, swap_id = self.state.token, session.new_id()
            swap = Swap("lead", name, swap_id, value, entry.version, KEPT_FOR, fence)
            reply = await wire.ask(swap, by)
            if isinstance(reply, Swapped):
                return
            if not isinstance(reply, Moved):
                raise nonsense(session, reply)
            entry = self._seen = reply.entry
            if reply.why == "fence" and self._added(entry.value) is not None:
                raise self._overtaken(entry.fence)
        raise BackendUnavailable(
            f"the journal of {called(name)} keeps changing although this client leads: does"
            f" somebody else write to what holdfast keeps on {session.backend}?",
            backend=session.backend,
            transient=False,
        )

    async def _look(self, wire: Wire, by: float) -> Entry:
        reply = await wire.ask(Get("lead", self.state.name), by)
        if not isinstance(reply, Entry):
            raise nonsense(self._session, reply)
        self._seen = reply
        return reply

    def _added(self, value: bytes | None) -> bytes | None:
        """Write what is missing into the journal; ``None`` if we are in it."""
        tokens = _tokens(value, self._session.backend)
        if self.state.token in tokens:
            return None
        last = tokens[-1] if tokens else 0
        *before, ours = self._lines
        for line in (*(one for one in before if one.tenure.token > last), ours):
            value = added(value, written(line), self._session.backend)
        return value

    def _overtaken(self, fence: int) -> LockLost:
        state, reason = self.state, f"another has led since (token {fence})"
        return LockLost(
            f"the lead of {called(state.name)} (token {state.token}) is lost: {reason}",
            name=state.name,
            token=state.token,
            reason=reason,
        )


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


def _tokens(value: bytes | None, backend: str) -> list[int]:
    """Give the tokens of those who are in the journal, without reading all that is said of them."""
    form, *lines = (value or FORM).split(b"\n")
    if form != FORM:
        raise unreadable(backend)
    try:
        return [int(line[1 : line.index(b",")]) for line in lines]
    except ValueError:
        raise unreadable(backend) from None


def _unpacked(token: int, since: float, *rest: Any) -> Line:
    *holder, metadata, vacant = rest
    return Line(Tenure(Holder(*holder), token, 1, since, 0.0, metadata), bool(vacant))
