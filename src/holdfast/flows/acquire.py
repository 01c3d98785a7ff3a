"""Getting hold of a name: ask, wait in line if need be, start only under a lease that is good.

The story in three parts. *Asking*: until the first reply ``call_limit`` bounds everything.
*Waiting*: the keeper keeps the place and hears the notice; outages are ridden over until ``wait``
ends. *Beginning* (``begin``): from the grant to a lease under which the body may start. However
it ends (error, cancellation, Ctrl-C), no claim is left behind. Counterparts: ``keep``, ``release``.
"""

from __future__ import annotations

from math import inf

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import explain
from holdfast.flows.begin import begin, leave_withdrawal, take, take_back
from holdfast.flows.book import Confirmed, LeaseState, Outcome, Ticket
from holdfast.flows.order import Order
from holdfast.flows.release import unclaim, withdraw
from holdfast.flows.rest import rest
from holdfast.flows.session import Session, ask_again
from holdfast.flows.trip import LONG_WAIT, Trip
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.messages import (
    Busy,
    Claim,
    Ended,
    Granted,
    Later,
    Refused,
    Reply,
    Waiting,
)
from holdfast.values import Tenure, made

LOOK_UP = 2.0
"""How often a waiting caller looks whether its keeper is still there."""

CROWD = 20
"""So many look for themselves; more than that share the work, each at another moment."""


async def acquire(session: Session, order: Order, place: tuple[str, int]) -> LeaseState:
    """Hold ``order.name``, or raise ``LockBusy`` or ``BackendUnavailable``."""
    trip = _set_out(session, order)
    if isinstance(trip, LeaseState):
        return trip
    runtime, book, asked_at = session.runtime, session.book, trip.started_at
    while True:
        claim_id = session.new_id()
        ticket = Ticket(order.name, claim_id, order.want.ttl)
        book.tickets[claim_id] = ticket  # before asking: the notice may be first
        try:
            claim = _claim(session, order, claim_id)
            try:
                reply = await session.wire.ask(claim, trip.ask_by(asked_at + session.call_limit))
            except BackendUnavailable as error:
                reply, asked_at = await ask_again(session, claim, trip.answer_by, error, ticket)
                trip.handed = ticket.doubtful  # for all we know: it may have been in line meanwhile
            trip.answer_by = trip.give_up_at  # the backend has answered: now only ``wait`` counts
            if type(reply) is Granted:
                deadline = rule.deadline(asked_at, reply.remaining)
                now = runtime.now()
                if now < deadline and not ticket.broken:  # most calls end here
                    state = begin(session, order, reply, deadline, place, trip, now)
                    if ticket.good() and not book.closing:
                        return state
                    take_back(session, state)
            taken = await _see_through(session, order, ticket, trip, reply, asked_at, place)
            if taken is not None:
                return taken
        except BaseException as error:
            await _leave_nothing(session, order, ticket, error)
            raise
        finally:
            book.tickets.pop(claim_id, None)
        asked_at = _come_again(session, order, trip)


def _set_out(session: Session, order: Order) -> Trip | LeaseState:
    """Begin a call, unless it is let in by the lease that its thread or task has already."""
    if session.book.closing:
        session.refuse_if_closed()
    # A moment before the claim is sent: the nearer, the longer its lease is believed in.
    started_at = session.runtime.now()
    owner = session.runtime.owner()
    mine = session.book.owned.get((order.name, owner))
    if mine is not None and mine.holds(started_at):
        again = _again(session, order, mine)
        if again is not None:
            return again
    curious = session.hub.curious
    if curious:
        session.hub.tell(events.Claimed(order.name, order.wait))
    return Trip(started_at, order.wait, session.call_limit, owner, curious)


def _claim(session: Session, order: Order, claim_id: str) -> Claim:
    name, want, wait, _, _, _ = order
    patience = 0.0 if wait == 0 else rule.PATIENCE
    seen = session.book.seen_token(name)
    inbox = session.keeper.inbox()
    return made(Claim, (name, claim_id, want, session.holder, inbox, patience, seen))


async def _see_through(
    session: Session,
    order: Order,
    ticket: Ticket,
    trip: Trip,
    reply: Reply,
    asked_at: float,
    place: tuple[str, int],
) -> LeaseState | None:
    """Go on from the reply to a claim; ``None`` if it ended before its body could start."""
    if type(reply) is Later:
        await rest(session, order, ticket, trip, reply)
        return None
    outcome = _heard(session, order, ticket, trip, reply, asked_at)
    if outcome is None:
        outcome = await _wait_in_line(session, ticket, trip)
        if ticket.deaf:
            _displaced(session, order, trip, "the inbox was deaf for a while")
    if outcome is None:
        raise await _gave_up(session, order, ticket, trip)
    trip.behind = ticket.holders
    return await take(session, order, ticket, outcome, trip, place)


def _come_again(session: Session, order: Order, trip: Trip) -> float:
    """Prepare for another claim, unless it is too late; give the moment before it is sent."""
    session.refuse_if_closed()  # perhaps that is why the claim ended
    now = session.runtime.now()
    if trip.rested:
        trip.rested = False  # it came in vain, to a backend without a queue, and comes again
    else:
        # The claim ended before its body could start: in line again, behind who came since.
        _displaced(session, order, trip, "the claim ended before its body could start")
        if now >= trip.give_up_at:
            raise explain.too_late(session, order, unsure=trip.unsure)
    trip.handed = False
    return now


def _again(session: Session, order: Order, mine: LeaseState) -> LeaseState | None:
    """Let the same thread or task in again, or keep it from waiting for itself."""
    want, held = order.want, mine.want
    if (want.kind, want.capacity) != (held.kind, held.capacity):
        return None  # the backend refuses that, and says why
    if order.reentrant and want.weight <= held.weight:
        mine.count += 1  # who may write may read as well: it stays the lease it is
        return mine
    if order.wait != 0:
        raise explain.self_deadlock(order, mine)
    if want.weight < want.capacity:
        # A second share beside one's own, which the backend might grant, would hide the first:
        # one lease per owner and name is what all of this relies on.
        raise explain.busy(session, order, session.runtime.now(), (_tenure(session, mine),))
    return None  # with wait=0 the same owner is simply busy


def _tenure(session: Session, mine: LeaseState) -> Tenure:
    """Show one of our own leases as others see it."""
    want, left = mine.want, mine.deadline - session.runtime.now()
    return Tenure(
        session.holder, mine.token, want.weight, mine.granted_at, max(0.0, left), want.metadata
    )


async def _leave_nothing(
    session: Session, order: Order, ticket: Ticket, error: BaseException
) -> None:
    """See to it that nothing is left of a claim that failed with ``error``."""
    match error:
        case LockBusy() | Misuse():  # if there was a second copy, that one was answered
            # A client that is closed while it waits may be handed, meanwhile, what it gives back.
            to_be_withdrawn = ticket.doubtful or session.book.closing
        case BackendUnavailable():
            to_be_withdrawn = error.outcome == "unknown"
        case _:  # cancelled or interrupted, at whatever point
            await unclaim(session, order, ticket.claim_id)
            return
    if to_be_withdrawn and session.book.closed:  # nobody is left who would do it for us
        await unclaim(session, order, ticket.claim_id)
    elif to_be_withdrawn:
        leave_withdrawal(session, order, ticket.claim_id)


def _heard(
    session: Session, order: Order, ticket: Ticket, trip: Trip, reply: Reply, asked_at: float
) -> Outcome | None:
    """Understand the reply to a claim; ``None`` means that it waits in the queue now."""
    match reply:
        case Granted():
            return Confirmed(reply, asked_at)
        case Waiting():
            trip.handed = True
            ticket.confirmed_at = asked_at
            ticket.holders = reply.holders
            ticket.retry_at = inf if reply.retry_in is None else asked_at + reply.retry_in
            ticket.renew_at = asked_at + rule.TICK
            session.due(min(ticket.renew_at, ticket.retry_at))
            if session.hub.curious:
                waited_for = session.runtime.now() - trip.started_at
                session.hub.tell(events.Queued(order.name, waited_for))
            return None
        case Ended():
            return reply
        case Busy():
            raise explain.busy(session, order, trip.started_at, reply.holders)
        case Refused():
            raise explain.refused(session, order, reply)
        case _:
            raise explain.nonsense(session, reply)


async def _wait_in_line(session: Session, ticket: Ticket, trip: Trip) -> Outcome | None:
    """Wait until the keeper or a notice settles the ticket; ``None`` when ``wait`` is over."""
    runtime = session.runtime
    bell = ticket.bell = session.bell()
    say_at = trip.started_at + LONG_WAIT
    while ticket.outcome is None:
        now = runtime.now()
        if now >= trip.give_up_at:
            return None
        if now >= say_at:
            say_at += LONG_WAIT
            waited_for = now - trip.started_at
            if session.book.may_say(ticket.name, now, LONG_WAIT):
                session.hub.tell(events.Waited(ticket.name, waited_for, ticket.holders))
        await bell.wait(min(trip.give_up_at, say_at, now + _look_after(session)))
        session.refuse_if_closed()  # the keeper withdraws what was waiting
        if ticket.outcome is None:
            session.keeper.mind()
    return ticket.outcome


def _look_after(session: Session) -> float:
    """Say when to look for the keeper: whoever finds it dead starts it again for everybody."""
    waiting = len(session.book.tickets)
    if waiting <= CROWD:
        return LOOK_UP
    return LOOK_UP * waiting / CROWD * (0.5 + session.runtime.dice())


def _displaced(session: Session, order: Order, trip: Trip, reason: str) -> None:
    """Tell that others may have been let in first."""
    if session.hub.curious:
        waited_for = session.runtime.now() - trip.started_at
        session.hub.tell(events.PlaceLost(order.name, waited_for, reason))


async def _gave_up(session: Session, order: Order, ticket: Ticket, trip: Trip) -> Exception:
    """Leave the line; busy only if the backend confirms that nothing is left of the claim."""
    reply = await withdraw(session, order.name, ticket.claim_id, order.want.ttl)
    if not isinstance(reply, Ended):
        return explain.unresolved(session, order, trip.started_at)
    return explain.busy(session, order, trip.started_at, reply.holders or ticket.holders)
