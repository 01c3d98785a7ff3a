"""Standing for election: hold the name, put the tenure down, and only then lead.

Holding is ``acquire``. What comes on top is the journal: no body starts under a tenure that is not
in it, so that observers can be told of every one that did anything. A lead that cannot be put down
is given back, and stood for again until ``wait`` is over. Counterpart: ``lead``, who only looks.
"""

from __future__ import annotations

from math import inf

from holdfast.errors import BackendUnavailable, LockLost
from holdfast.flows import explain
from holdfast.flows.acquire import acquire
from holdfast.flows.book import LeaseState
from holdfast.flows.journal import is_last, put_down
from holdfast.flows.order import Order
from holdfast.flows.release import release, unclaim
from holdfast.flows.session import Session
from holdfast.flows.swap import look
from holdfast.rules import backoff
from holdfast.rules.record_messages import Entry, Get
from holdfast.values import Tenure

PROMPTLY = 1.0
"""How long a candidate in line looks at the journal; who cannot, does it when it leads."""

READINGS = 5
"""How often, at most: the leader may be one that writes no journal."""


async def stand(session: Session, order: Order, place: tuple[str, int]) -> LeaseState:
    """Lead ``order.name``, or raise ``LockBusy`` or ``BackendUnavailable``."""
    runtime = session.runtime
    started_at = runtime.now()
    give_up_at = inf if order.wait is None else started_at + order.wait
    attempt = 0
    while True:
        ahead = _Ahead(session, order.name, give_up_at)
        try:
            state = await acquire(session, order, place, ahead.read)
        except BackendUnavailable as error:
            # The backend has answered before: now an outage is ridden over, as in line.
            if not attempt or not error.transient or runtime.now() >= give_up_at:
                if attempt:
                    error.outcome = "unknown"  # the lead that was granted may be so for a while
                raise
        else:
            failure = await _failure(session, order, state, ahead.seen)
            if failure is None:
                return state
            if runtime.now() >= give_up_at:
                raise explain.unresolved(session, order, started_at) from failure
        if attempt:
            await runtime.sleep(backoff.pause(attempt, runtime.dice()))
        attempt += 1
        if order.wait is not None:
            order = order.with_wait(max(0.0, give_up_at - runtime.now()))


class _Ahead:
    """Looks at the journal while standing by: then one write is all that keeps us from leading."""

    def __init__(self, session: Session, name: str, until: float) -> None:
        self._session = session
        self._name = name
        self._until = until
        self._left = READINGS
        self.seen: Entry | None = None

    async def read(self, holders: tuple[Tenure, ...]) -> bool:
        """Look; say whether that was enough.

        Whoever leads now may be about to write itself: until it has, another look is worth it.
        """
        self._left -= 1
        soon = self._session.runtime.now() + min(PROMPTLY, self._session.call_limit)
        try:
            reply = await self._session.wire.ask(Get("lead", self._name), min(soon, self._until))
        except BackendUnavailable:
            return self._left <= 0  # it can be done later, and is
        if isinstance(reply, Entry):
            self.seen = reply
        leads = holders[0].token if holders else 0
        return self._left <= 0 or is_last(self.seen and self.seen.value, leads)


async def _failure(
    session: Session, order: Order, state: LeaseState, seen: Entry | None
) -> Exception | None:
    """Put a tenure down; say what kept us from it, if it is worth another try."""
    try:
        entry = seen or await look(session, "lead", order.name)
        await put_down(session, state, entry)
    except (BackendUnavailable, LockLost) as error:
        await release(session, state)
        if isinstance(error, BackendUnavailable) and not error.transient:
            error.outcome = "unknown"  # the lead may stay granted for a while
            raise
        return error
    except BaseException:  # cancelled or interrupted, or the client was closed
        await unclaim(session, order, state.claim_id)
        raise
    return None
