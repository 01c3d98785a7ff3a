"""Who leads: asking, and following the changes.

To lead is to hold a name of the kind ``lead``, and that is ``acquire``; here is what those do who
only look. Notices go to claimants alone, so an observer looks: once a second, and right when the
tenure that it knows would end by itself. What it tells is in order, because tokens are: a tenure is
news only if its token is larger than all that were told before.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.flows.inspect import show
from holdfast.flows.session import Session
from holdfast.ports import Bell
from holdfast.values import LockInfo, Tenure, printable

LOOK_EVERY = 1.0
"""How often an observer looks; a tenure that begins and ends in between it does not see."""

JUST_AFTER = 0.01
"""How long after the end of a tenure it is worth looking who came next."""


class Change(NamedTuple):
    """Who leads now; nobody, if ``leader`` is ``None``."""

    leader: Tenure | None


class Watching:
    """How far one observer has come."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.told: Change | None = None  # what was told last
        self.newest = 0  # the largest token that was told
        self.look_at = -inf
        self.closed = False
        self.bell: Bell | None = None  # of the flow that waits for the next change

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
        now = runtime.now()
        over = now >= give_up_at  # one last look: what was not looked at is not "unchanged"
        if now < watching.look_at and not over:
            await bell.wait(min(watching.look_at, give_up_at))
            continue
        watching.look_at = now + LOOK_EVERY
        try:
            change = _news(watching, await leader(session, watching.name))
        except BackendUnavailable as error:
            now = runtime.now()
            if watching.told is None or now >= give_up_at or not error.transient:
                raise
            watching.look_at = now + LOOK_EVERY
            continue
        if change is not None or over:
            return change
    return None


def _news(watching: Watching, found: Tenure | None) -> Change | None:
    """Note what was found; give it if it is news."""
    told = watching.told
    if found is not None:
        # A standby gets in when the tenure ends by itself: whoever looks right then sees it.
        ends_at = watching.look_at - LOOK_EVERY + found.expires_in + JUST_AFTER
        watching.look_at = min(watching.look_at, ends_at)
        if found.token <= watching.newest:
            return None
        watching.newest = found.token
    elif told is not None and told.leader is None:
        return None
    watching.told = Change(found)
    return watching.told


def _leader_of(seen: LockInfo) -> Tenure | None:
    if not seen.holders:
        return None
    if seen.kind != "lead":
        raise Misuse(
            f"{printable(seen.name)!r} is in use as a {seen.kind}, so nobody leads by it:"
            " use another name for the election"
        )
    return seen.holders[0]
