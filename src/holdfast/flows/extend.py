"""Asking for a longer life of leases than they were taken with."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.flows.lose import lose, lost_error
from holdfast.flows.session import Session, ask_until
from holdfast.rules import lease as rule
from holdfast.rules.messages import Ended, Granted, Item, Renew, Renewed, Reply


async def extend(session: Session, state: LeaseState, ttl: float) -> None:
    """Let the lease live for ``ttl`` from now, and renew it by that from now on.

    Like every renewal it never shortens and never revives: a lost lease raises ``LockLost``.
    """
    now = session.runtime.now()
    request = _renewal(session, state, ttl, now)
    by = now + min(session.call_limit, state.deadline - now)
    reply, asked_at = await ask_until(session, request, by)
    _settle(session, state, ttl, request.items[0], reply, asked_at)


async def extend_all(session: Session, states: Sequence[LeaseState], ttl: float) -> None:
    """Do that for several in one batch; the first that fails is told, the others are extended."""
    now = session.runtime.now()
    requests = [_renewal(session, state, ttl, now) for state in states]
    by = now + min(session.call_limit, min(state.deadline for state in states) - now)
    replies = await session.wire.ask_all(requests, by)
    failure: Exception | None = None
    for state, request, reply in zip(states, requests, replies, strict=True):
        try:
            if isinstance(reply, BackendUnavailable):
                raise reply
            _settle(session, state, ttl, request.items[0], reply, now)
        except Exception as error:  # noqa: BLE001 - the others are settled first
            failure = failure or error
    if failure is not None:
        raise failure


def _renewal(session: Session, state: LeaseState, ttl: float, now: float) -> Renew:
    if not state.holds(now):
        raise lost_error(session, state)
    return Renew(state.name, (Item(state.claim_id, state.token, min(ttl, state.stop_at - now)),))


def _settle(
    session: Session, state: LeaseState, ttl: float, item: Item, reply: Reply, asked_at: float
) -> None:
    answer = reply.answers[0] if isinstance(reply, Renewed) else reply
    if not state.holds(session.runtime.now()):
        raise lost_error(session, state)  # the answer came too late: nothing revives a lease
    match answer:
        case Granted():
            confirmed = rule.deadline(asked_at, answer.remaining)
            state.ttl = ttl
            state.deadline = min(max(state.deadline, confirmed), state.stop_at)
            state.at_limit = item.ttl >= state.stop_at - asked_at
            if state.wants_renewal and not state.at_limit:
                state.renew_at = rule.next_renewal(asked_at, ttl)
                session.due(state.renew_at)
        case Ended():
            lose(session, state, answer.reason or f"the backend has ended it ({answer.how})")
            raise lost_error(session, state)
        case _:
            raise BackendUnavailable(
                f"{session.backend} gave an unexpected answer ({type(answer).__name__})",
                backend=session.backend,
                outcome="unknown",
            )
