"""Duties: what is to be done under a lease before it is given back, and not before it begins.

The body works meanwhile. The keeper sees to it at once; who gives the lease back and finds it still
undone does it first. Nobody hangs on it: it takes its part of the time that giving back may take,
then the keeper has one more try, right before it gives the lease back. What is given up is told.
"""

from __future__ import annotations

from holdfast.errors import BackendUnavailable, LockLost
from holdfast.flows.book import Duty, LeaseState
from holdfast.flows.lose import lose
from holdfast.flows.session import Session
from holdfast.observe import events
from holdfast.rules import backoff


def take_on(session: Session, duty: Duty) -> None:
    """Enter a duty in the book, for the keeper to do it soon."""
    session.book.duties[duty.state.claim_id] = duty
    session.keeper.wake()


async def see_to_duties(session: Session, limit: float) -> bool:
    """Do all that are open, in ``limit`` at most; say whether the backend failed to answer."""
    by = session.runtime.now() + limit
    for duty in tuple(session.book.duties.values()):
        try:
            await duty.do(session.wire, by)
        except LockLost as error:
            lose(session, duty.state, error.reason)
            _give_up(session, duty, error.reason)
        except BackendUnavailable as error:
            if error.transient:
                _give_up_the_late(session, error.message)
                return True
            _give_up(session, duty, error.message)
        else:
            _done(session, duty)
    return False


def _give_up_the_late(session: Session, error: str) -> None:
    for duty in tuple(session.book.duties.values()):
        if _is_too_late(session, duty.state):
            _give_up(session, duty, error)


def _is_too_late(session: Session, state: LeaseState) -> bool:
    """Whether the lease is over, or is to be given back now: that is not held up any longer."""
    if session.runtime.now() >= state.surely_over_at:
        return True
    return any(chore.request.claim_id == state.claim_id for chore in session.book.chores.copy())


async def discharge(session: Session, state: LeaseState, by: float) -> BackendUnavailable | None:
    """Do what is still to be done before ``state`` is given back; say why it was not done by then.

    Then the keeper tries it once more, right before it gives the lease back.
    """
    runtime, attempt = session.runtime, 0
    while (duty := session.book.duties.get(state.claim_id)) is not None:
        try:
            await duty.do(session.wire, by)
        except LockLost as error:
            _give_up(session, duty, error.reason)  # giving it back tells the loss
        except BackendUnavailable as error:
            if not error.transient:
                _give_up(session, duty, error.message)
                return None
            pause = backoff.pause(attempt, runtime.dice())
            if runtime.now() + pause >= by:
                return error
            attempt += 1
            await runtime.sleep(pause)  # the keeper may do it meanwhile
        else:
            _done(session, duty)
    return None


def drop_duties(session: Session) -> None:
    """Give up what is left, when nobody is left to do it."""
    for duty in tuple(session.book.duties.values()):
        _give_up(session, duty, "the client was closed first")


def _done(session: Session, duty: Duty) -> None:
    session.book.duties.pop(duty.state.claim_id, None)


def _give_up(session: Session, duty: Duty, error: str) -> None:
    """Tell, once, that a duty is not done and will not be."""
    state = duty.state
    if session.book.duties.pop(state.claim_id, None) is not None:
        session.hub.tell(events.Unrecorded(state.name, state.token, error))
