"""Giving a name back, and taking a claim back: what is unsure is left to the keeper to repeat.

A release that the backend does not confirm is an event, not an error: the work is done, and the
lease ends by itself. A release that finds the lease gone is a loss, and told as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.flows.duties import discharge
from holdfast.flows.lose import call_listeners, disown, lose
from holdfast.flows.order import Order
from holdfast.flows.session import Session, ask_again, ask_until
from holdfast.observe import events
from holdfast.rules.lease import AWAITED_AFTER, PATIENCE
from holdfast.rules.messages import Ended, Release, Reply, Withdraw
from holdfast.values import made

PROMPTLY = 1.0
"""How long the clean-up holds up a caller that is being cancelled; then the keeper does it."""


async def release(session: Session, state: LeaseState, by: float = inf) -> None:
    """Give the lease back; afterwards ``state.loss`` says whether it was good to the end."""
    if state.released:
        return
    if state.count > 1:  # reentrant: only the outermost lets go
        state.count -= 1
        return
    now = session.runtime.now()
    limit, late = min(by, now + session.call_limit), None
    if session.book.duties:
        late, now = await _discharged(session, state, limit)
    if not state.holds(now):
        _give_up(session, state, now)
        return
    held_for = now - state.started_at
    awaited = state.handed or held_for >= AWAITED_AFTER
    request = made(Release, (state.name, state.claim_id, awaited))
    try:
        state.released = True  # first, so that nobody believes while the release is under way
        if session.book.leases.pop(state.claim_id, None) is None:
            return
        _let_go(session, state)
        if late is not None:
            raise late  # the time is up for the release as well
        try:
            reply = await session.wire.ask(request, limit)
        except BackendUnavailable as error:
            reply, _ = await ask_again(session, request, limit, error)
        _judge(session, state, reply, held_for)
    except BackendUnavailable as error:
        _unconfirmed(session, state, request, error, held_for)
    except BaseException:  # cancelled or interrupted: the keeper says it again, to be sure
        session.leave(Release(state.name, state.claim_id), state.surely_over_at)
        raise


def _let_go(session: Session, state: LeaseState) -> None:
    state.released = True
    disown(session, state)
    if state.watchers:
        for bell in tuple(state.watchers):
            bell.ring()


async def _discharged(
    session: Session, state: LeaseState, by: float
) -> tuple[BackendUnavailable | None, float]:
    """Do first what is to be done first: it is held, and renewed, for as long as that takes."""
    try:
        late = await discharge(session, state, by)
    except BaseException:  # cancelled or interrupted
        _leave(session, state)
        raise
    return late, session.runtime.now()


def _leave(session: Session, state: LeaseState) -> None:
    """Let go without asking: the keeper gives it back."""
    if state.released:
        return
    state.released = True
    if session.book.leases.pop(state.claim_id, None) is not None:
        _let_go(session, state)
    session.leave(Release(state.name, state.claim_id), state.surely_over_at)


def _unconfirmed(
    session: Session,
    state: LeaseState,
    request: Release,
    error: BackendUnavailable,
    held_for: float,
) -> None:
    session.leave(request, state.surely_over_at)
    session.hub.tell(events.ReleaseFailed(state.name, state.token, held_for, error.message))


def _judge(session: Session, state: LeaseState, reply: Reply, held_for: float) -> None:
    if isinstance(reply, Ended) and reply.how != "released":
        # It was taken away before its deadline: broken by force, or forgotten by the server.
        state.loss = f"the backend had ended it before the release ({reply.how})"
        session.hub.tell(events.Lost(state.name, state.token, held_for, state.loss))
        call_listeners(state)
    elif session.hub.curious:
        session.hub.tell(events.Released(state.name, state.token, held_for))


def _give_up(session: Session, state: LeaseState, now: float) -> None:
    """Let go of a lost lease: nobody waits for a backend that may be the reason for the loss.

    The keeper still says so: on a grant marked broken this is the word that passes it on.
    """
    if state.released:  # by another thread or task, while we did what is to be done first
        return
    lose(session, state, state.why_over())
    state.loss = state.loss or state.why_over()  # the keeper may be in the middle of telling it
    state.released = True
    session.leave(Release(state.name, state.claim_id), now + state.ttl)


async def release_all(session: Session) -> None:
    """Give back everything that this client holds, in one batch; under a duty, after that."""
    by = session.runtime.now() + session.call_limit
    states, duties = tuple(session.book.leases.values()), session.book.duties
    owing = [state for state in states if state.claim_id in duties]
    try:
        await release_these(session, [state for state in states if state not in owing])
        for state in owing:
            await release(session, state, by)
    except BaseException:
        for state in owing:
            _leave(session, state)
        raise


async def release_these(session: Session, states: Sequence[LeaseState]) -> bool:
    """Give these back in one batch; those that were given back before are left alone.

    Says whether the backend has confirmed all of it: what it has not, the keeper repeats.
    """
    now = session.runtime.now()
    good: list[LeaseState] = []
    confirmed = True
    for state in states:
        if state.released:
            continue
        if not state.holds(now):
            confirmed = False
            _give_up(session, state, now)
        elif session.book.leases.pop(state.claim_id, None) is not None:
            _let_go(session, state)
            good.append(state)
    if not good:
        return confirmed
    requests = [Release(state.name, state.claim_id) for state in good]
    try:
        replies = await session.wire.ask_all(requests, now + session.call_limit)
    except BaseException:
        for state, request in zip(good, requests, strict=True):
            session.leave(request, state.surely_over_at)
        raise
    for state, request, reply in zip(good, requests, replies, strict=True):
        if isinstance(reply, BackendUnavailable):
            confirmed = False
            _unconfirmed(session, state, request, reply, now - state.started_at)
        else:
            _judge(session, state, reply, now - state.started_at)
    return confirmed


async def withdraw(session: Session, name: str, claim_id: str, ttl: float) -> Reply | None:
    """End a claim whatever became of it; ``None`` when the backend has not confirmed it yet."""
    request = Withdraw(name, claim_id)
    now = session.runtime.now()
    # A later duplicate of the claim, or its grant, cannot outlive this.
    until = now + max(ttl, PATIENCE)
    try:
        reply, _ = await ask_until(session, request, now + min(PROMPTLY, session.call_limit))
    except BackendUnavailable:
        session.leave(request, until)
        return None
    except BaseException:
        session.leave(request, until)
        raise
    return reply


async def unclaim(session: Session, order: Order, claim_id: str) -> None:
    """Take back what somebody who is cancelled or interrupted has asked for, and perhaps got."""
    state = session.book.leases.pop(claim_id, None)
    if state is not None:
        disown(session, state)
    await session.runtime.finish(withdraw(session, order.name, claim_id, order.want.ttl))
