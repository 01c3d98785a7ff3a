"""A lease ends without having been released: say so, once, to everyone concerned."""

from __future__ import annotations

from holdfast.durations import readable
from holdfast.errors import LockLost
from holdfast.flows.book import LeaseState
from holdfast.flows.session import Session
from holdfast.observe import events
from holdfast.rules.messages import Release
from holdfast.values import called, origin, printable


def lose(session: Session, state: LeaseState, reason: str) -> None:
    """Mark ``state`` lost and call its listeners, unless somebody ended it before."""
    if session.book.leases.pop(state.claim_id, None) is None:
        return
    disown(session, state)
    state.loss = state.loss or reason
    held_for = session.runtime.now() - state.started_at
    try:
        session.hub.tell(events.Lost(state.name, state.token, held_for, state.loss))
    finally:  # whatever an observer does (end its thread, say): these are told
        for bell in tuple(state.watchers):
            bell.ring()
        try:
            if state.company is not None:
                _lose_company(session, state)
        finally:
            call_listeners(state)


def call_listeners(state: LeaseState) -> None:
    """Call everybody who asked to be told of the loss, each once."""
    failure: BaseException | None = None
    while state.listeners:
        try:
            state.push(state.listeners.pop(0))
        except BaseException as error:  # noqa: BLE001 - the others are told first
            failure = error
    if failure is not None:
        raise failure


def _lose_company(session: Session, state: LeaseState) -> None:
    """Lose those with whom it was held as well, and give them back: the body cannot go on."""
    company = state.company and state.company()
    if company is None or company.fallen is not None:
        return
    company.fallen = state
    reason = f"{printable(state.name)!r}, which was held together with it, is lost: {state.loss}"
    failure: BaseException | None = None
    for other in company.states:
        if other.claim_id in session.book.leases:
            try:
                lose(session, other, reason)
            except BaseException as error:  # noqa: BLE001 - the others are lost and given back first
                failure = error
            # Only now: from here on nobody believes in it any more.
            until = session.runtime.now() + other.ttl  # a renewal nobody heard of may have moved it
            session.leave(Release(other.name, other.claim_id), until)
    if failure is not None:
        raise failure


def disown(session: Session, state: LeaseState) -> None:
    """Forget that a thread or task owns the name through this lease."""
    key = (state.name, state.owner)
    if session.book.owned.get(key) is state:
        del session.book.owned[key]


def lost_error(session: Session, state: LeaseState) -> LockLost:
    """Make the error that tells a caller of the loss."""
    reason = state.why_lost()
    return LockLost(
        f"the lease on {called(state.name)} (token {state.token}) is lost: {printable(reason)}. "
        f"Stop the work it protected; {session.look(state.name)} tells who has it now.",
        name=origin(state.name)[1],
        token=state.token,
        reason=reason,
    )


def short_error(state: LeaseState, left: float, wanted: float) -> LockLost:
    """Make the error for a lease that is good, but not for as long as the caller needs it."""
    return LockLost(
        f"the lease on {called(state.name)} (token {state.token}) is good for"
        f" {readable(left)} more, not for {readable(wanted)}. Do not start what takes that long;"
        " extend() it first.",
        name=origin(state.name)[1],
        token=state.token,
        reason=f"only {readable(left)} left",
    )
