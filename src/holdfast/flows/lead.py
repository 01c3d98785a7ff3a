"""Who leads: asking, and following the changes.

To lead is to hold a name of the kind ``lead``, and that is ``stand``; here is what those do who
only look. Notices go to claimants alone, so an observer looks: once a second, and right when the
tenure that it knows would end by itself. A look tells the last token that was ever given; if that
has moved, the journal tells who led in between. What is told is in order, because tokens are: a
tenure is news only if its token is larger than all that were told before.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import NamedTuple

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.flows.inspect import show
from holdfast.flows.journal import Line, lines_of
from holdfast.flows.session import Session
from holdfast.ports import Bell
from holdfast.values import LockInfo, Tenure, printable

LOOK_EVERY = 1.0
"""How often an observer looks. A tenure that begins and ends in between it finds in the journal;
where there is none it does not see it."""

JUST_AFTER = 0.01
"""How long after the end of a tenure it is worth looking who came next."""

SOON = (0.05, 0.1, 0.2)
"""How long a leader that was just granted the name is given to put itself down, look by look."""


class Change(NamedTuple):
    """Who leads now; nobody, if ``leader`` is ``None``."""

    leader: Tenure | None


class Watching:
    """How far one observer has come; ``journal``: whether leaders keep one on this backend."""

    def __init__(self, name: str, *, journal: bool = True) -> None:
        self.name = name
        self.journal = journal
        self.told: Change | None = None  # what was told last, or is about to be
        self.coming: deque[Change] = deque()  # what is known, and not yet told
        self.newest = 0  # the largest token that was seen: nothing up to it is news
        self.look_at = -inf
        self._unwritten = 0  # the token of a leader that was not in the journal
        self._soon = iter(SOON)  # when to look for it again
        self.closed = False
        self.bell: Bell | None = None  # of the flow that waits for the next change

    def says_more_in(self, token: int) -> float | None:
        """Say when a leader that is not in the journal may be in it, and say more there.

        Looked for in vain a few times it is told as it is: it may never write, or not know how to.
        """
        if not self.journal or self.told is None:
            return None
        if self._unwritten != token:
            # Most of what it could say is whether there was a pause: not needed if that was told.
            looks = SOON[:1] if self.told.leader is None else SOON
            self._unwritten, self._soon = token, iter(looks)
        return next(self._soon, None)

    def close(self) -> None:
        """End the watching, also one that is under way in another thread or task."""
        self.closed = True
        if self.bell is not None:
            self.bell.ring()


async def leader(session: Session, name: str) -> Tenure | None:
    """Say who leads; ``None`` if nobody does."""
    return _leader_of(await show(session, name))


async def next_change(session: Session, watching: Watching, wait: float | None) -> Change | None:
    """Wait until another leads than was told last; ``None`` when ``wait`` is over or it was closed.

    The first time it tells at once who leads. An outage is ridden over: nothing is told meanwhile,
    because nothing is known; if ``wait`` ends in it, that is ``BackendUnavailable``.
    """
    runtime = session.runtime
    give_up_at = inf if wait is None else runtime.now() + wait
    bell = watching.bell = runtime.bell()
    while not watching.closed:
        if watching.coming:
            return watching.coming.popleft()
        now = runtime.now()
        over = now >= give_up_at  # one last look: what was not looked at is not "unchanged"
        if now < watching.look_at and not over:
            await bell.wait(min(watching.look_at, give_up_at))
            continue
        watching.look_at = now + LOOK_EVERY
        try:
            await _look(session, watching, over=over)
        except BackendUnavailable as error:
            now = runtime.now()
            if watching.told is None or now >= give_up_at or not error.transient:
                raise
            watching.look_at = now + LOOK_EVERY
            continue
        if over and not watching.coming:
            return None
    return None


async def _look(session: Session, watching: Watching, *, over: bool) -> None:
    """Look how it is, and find out what has become of it since the last look."""
    seen = await show(session, watching.name)
    found = _leader_of(seen)
    last = seen.token if found is None else found.token
    lines: list[Line] = []
    if watching.journal and watching.told is not None and last > watching.newest:
        # Read after the look: whoever led before ``last`` and resigned has put it down by now.
        # What came later is in order only behind what the next look finds.
        lines = await lines_of(session, watching.name)
        lines = [line for line in lines if watching.newest < line.tenure.token <= last]
    if found is not None:
        # A standby gets in when the tenure ends by itself: whoever looks right then sees it.
        ends_at = watching.look_at - LOOK_EVERY + found.expires_in + JUST_AFTER
        watching.look_at = min(watching.look_at, ends_at)
        if lines and lines[-1].tenure.token == last:
            lines[-1] = lines[-1]._replace(tenure=found)  # as it stands now
        elif last > watching.newest:
            soon = None if over else watching.says_more_in(last)
            if soon is not None:
                watching.look_at = session.runtime.now() + soon
                last -= 1
            else:
                lines.append(Line(found, vacant=False))
    for line in lines:
        if line.vacant:
            _tell(watching, None)
        _tell(watching, line.tenure)
    if found is None:
        _tell(watching, None)
    watching.newest = max(watching.newest, last)


def _tell(watching: Watching, leader: Tenure | None) -> None:
    """Put a change in line to be told; that still nobody leads is none."""
    told = watching.told
    if leader is None and told is not None and told.leader is None:
        return
    watching.told = Change(leader)
    watching.coming.append(watching.told)


def _leader_of(seen: LockInfo) -> Tenure | None:
    if not seen.holders:
        return None
    if seen.kind != "lead":
        raise Misuse(
            f"{printable(seen.name)!r} is in use as a {seen.kind}, so nobody leads by it:"
            " use another name for the election"
        )
    return seen.holders[0]
