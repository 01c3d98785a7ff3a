"""Getting hold of a name: ask, wait in line if need be, start only under a lease that is good.

The story in three parts. *Asking*: until the first reply ``call_limit`` bounds everything.
*Waiting*: the keeper keeps the place and hears the notice; outages are ridden over until ``wait``
ends. *Taking*: validity is computed anew, and a lease too short to start under is confirmed first.
However it ends (error, cancellation, Ctrl-C), no claim is left behind. Counterparts: ``keep``,
``release``.
"""

from __future__ import annotations

from math import inf

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import explain
from holdfast.flows.book import Confirmed, Handed, LeaseState, Outcome, Ticket
from holdfast.flows.lose import disown
from holdfast.flows.order import Order
from holdfast.flows.release import withdraw
from holdfast.flows.rest import LONG_WAIT, rest
from holdfast.flows.session import Session, ask_again, ask_until
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.messages import (
    Busy,
    Claim,
    Ended,
    Granted,
    Item,
    Later,
    Refused,
    Renew,
    Renewed,
    Reply,
    Waiting,
    Withdraw,
)
from holdfast.values import Tenure

LOOK_UP = 2.0
"""How often a waiting caller looks whether its keeper is still there."""

CROWD = 20
"""So many look for themselves; more than that share the work, each at another moment."""


class Trip:
    """Who calls, and how long it may take on the caller's clock."""

    __slots__ = (
        "answer_by", "curious", "give_up_at", "owner", "rested", "say_at", "started_at", "tries",
        "unsure",
    )  # fmt: skip

    def __init__(
        self,
        started_at: float,
        wait: float | None,
        call_limit: float,
        owner: object,
        *,
        curious: bool,
    ) -> None:
        self.owner = owner
        self.curious = curious  # whether the everyday events are wanted
        self.started_at = started_at
        self.give_up_at = inf if wait is None else started_at + wait
        self.answer_by = started_at + call_limit  # until the backend has answered once
        self.unsure = False  # whether an earlier claim may still be granted
        self.rested = False  # whether the last try was in vain, at a backend without a queue
        self.tries = 0  # how many such tries there were
        self.say_at = started_at + LONG_WAIT


async def acquire(session: Session, order: Order, place: tuple[str, int]) -> LeaseState:
    """Hold ``order.name``, or raise ``LockBusy`` or ``BackendUnavailable``."""
    session.refuse_if_closed()
    runtime = session.runtime
    started_at = runtime.now()
    owner = runtime.owner()
    mine = session.book.owned.get((order.name, owner))
    if mine is not None and mine.holds(started_at):
        again = _again(session, order, mine)
        if again is not None:
            return again
    curious = session.hub.curious
    if curious:
        session.hub.tell(events.Claimed(order.name, order.wait))
    trip = Trip(started_at, order.wait, session.call_limit, owner, curious=curious)
    state = await _attempt(session, order, trip, place, started_at)
    while state is None:
        now = runtime.now()
        if trip.rested:
            trip.rested = False  # it came in vain, to a backend without a queue, and comes again
        else:
            # The claim ended before its body could start: in line again, behind who came since.
            _displaced(session, order, trip, "the claim ended before its body could start")
            if now >= trip.give_up_at:
                raise explain.too_late(session, order, unsure=trip.unsure)
        state = await _attempt(session, order, trip, place, now)
    return state


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


async def _attempt(
    session: Session, order: Order, trip: Trip, place: tuple[str, int], asked_at: float
) -> LeaseState | None:
    """Make one claim and see it through; ``None`` if it ended before its body could start.

    ``asked_at`` is a moment before it is sent: the nearer, the longer the lease is believed in.
    """
    runtime, book = session.runtime, session.book
    name, want = order.name, order.want
    claim_id = session.new_id()
    ticket = Ticket(name, claim_id, want.ttl)
    book.tickets[claim_id] = ticket  # before asking: the notice may be first
    try:
        patience = 0.0 if order.wait == 0 else rule.PATIENCE
        seen = book.seen_token(name)
        inbox = session.keeper.inbox()
        claim = Claim(name, claim_id, want, session.holder, inbox, patience, seen)
        by = asked_at + session.call_limit
        if not trip.tries:  # who comes again may be answered after ``wait``: it was begun before
            by = min(trip.answer_by, by)
        try:
            reply = await session.wire.ask(claim, by)
        except BackendUnavailable as error:
            reply, asked_at = await ask_again(session, claim, trip.answer_by, error, ticket)
        trip.answer_by = trip.give_up_at  # the backend has answered once: now only ``wait`` counts
        if type(reply) is Granted:
            deadline = rule.deadline(asked_at, reply.remaining)
            now = runtime.now()
            if now < deadline and not ticket.broken:  # most calls end here
                state = begin(session, order, reply, deadline, place, trip, now)
                return state if ticket.good() else _never_began(session, order, trip, state)
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
        return await _take(session, order, ticket, outcome, trip, place)
    except BaseException as error:
        await _leave_nothing(session, order, ticket, error)
        raise
    finally:
        book.tickets.pop(claim_id, None)


async def _leave_nothing(
    session: Session, order: Order, ticket: Ticket, error: BaseException
) -> None:
    """See to it that nothing is left of a claim that failed with ``error``."""
    match error:
        case LockBusy() | Misuse():  # if there was a second copy, that one was answered
            to_be_withdrawn = ticket.doubtful
        case BackendUnavailable():
            to_be_withdrawn = error.outcome == "unknown"
        case _:  # cancelled or interrupted, at whatever point
            state = session.book.leases.pop(ticket.claim_id, None)
            if state is not None:
                disown(session, state)
            going = withdraw(session, order.name, ticket.claim_id, order.want.ttl)
            await session.runtime.finish(going)
            return
    if to_be_withdrawn:
        _leave_withdrawal(session, order, ticket.claim_id)


def _heard(
    session: Session, order: Order, ticket: Ticket, trip: Trip, reply: Reply, asked_at: float
) -> Outcome | None:
    """Understand the reply to a claim; ``None`` means that it waits in the queue now."""
    match reply:
        case Granted():
            return Confirmed(reply, asked_at)
        case Waiting():
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
    bell = ticket.bell = runtime.bell()
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


async def _take(
    session: Session,
    order: Order,
    ticket: Ticket,
    outcome: Outcome,
    trip: Trip,
    place: tuple[str, int],
) -> LeaseState | None:
    """Turn a grant into a lease under which the body may start, if enough of it is left."""
    now = session.runtime.now()
    if ticket.broken:  # nothing may start under it; the word that passes it on
        _leave_withdrawal(session, order, ticket.claim_id)
        trip.unsure = True
        return None
    if isinstance(outcome, Handed):
        granted = outcome.granted
        # Granted after the backend last said "still waiting", hence after that question was sent.
        deadline = rule.deadline(ticket.confirmed_at, granted.remaining)
        kept = not order.want.detached  # nobody would confirm a detached one later
        if kept and rule.may_start_unconfirmed(now, deadline, granted.remaining):
            confirm_at = _confirm_at(order, granted, now, deadline)
            state = begin(session, order, granted, deadline, place, trip, now, confirm_at)
            return state if ticket.good() else _never_began(session, order, trip, state)
        confirmed = await _confirm(session, order, granted, trip)
    else:
        confirmed = outcome if isinstance(outcome, Confirmed) else None
    if confirmed is None:
        return None
    deadline = rule.deadline(confirmed.asked_at, confirmed.granted.remaining)
    now = session.runtime.now()
    if now < deadline:
        return begin(session, order, confirmed.granted, deadline, place, trip, now)
    if await withdraw(session, order.name, ticket.claim_id, order.want.ttl) is None:
        trip.unsure = True
    return None


def _confirm_at(order: Order, granted: Granted, now: float, deadline: float) -> float | None:
    """Say when a lease that began unconfirmed is confirmed, by its first renewal."""
    if granted.remaining < order.want.ttl:  # a first life, to be filled up in any case
        return now if rule.confirm_now(now, deadline) else now + rule.TICK
    # A full one may be half spent, since it counts from the last sure word.
    return rule.next_renewal(now, deadline - now) if order.renew else None


async def _confirm(
    session: Session, order: Order, granted: Granted, trip: Trip
) -> Confirmed | None:
    """Renew a grant whose first life is too short to start under; ``None`` if it is gone."""
    item = Item(granted.claim_id, granted.token, order.want.ttl)
    by = session.runtime.now() + session.call_limit
    try:
        reply, asked_at = await ask_until(session, Renew(order.name, (item,)), by)
    except BackendUnavailable as error:
        if session.runtime.now() >= trip.give_up_at:
            raise explain.unresolved(session, order, trip.started_at) from error
        _leave_withdrawal(session, order, granted.claim_id)
        trip.unsure = True
        return None
    if isinstance(reply, Renewed) and isinstance(reply.answers[0], Granted):
        return Confirmed(reply.answers[0], asked_at)
    _leave_withdrawal(session, order, granted.claim_id)  # broken perhaps: this passes it on
    trip.unsure = True
    return None


def _never_began(
    session: Session, order: Order, trip: Trip, state: LeaseState
) -> LeaseState | None:
    """Take back a lease that another thread heard to be broken while it was being entered."""
    if session.book.leases.pop(state.claim_id, None) is not None:
        disown(session, state)
    _leave_withdrawal(session, order, state.claim_id)
    trip.unsure = True
    return None


def _leave_withdrawal(session: Session, order: Order, claim_id: str) -> None:
    until = session.runtime.now() + max(order.want.ttl, rule.PATIENCE)
    session.leave(Withdraw(order.name, claim_id), until)


def begin(
    session: Session,
    order: Order,
    granted: Granted,
    deadline: float,
    place: tuple[str, int],
    trip: Trip,
    now: float,
    confirm_at: float | None = None,
) -> LeaseState:
    """Enter the lease in the book; ``confirm_at`` says when one that is unconfirmed is renewed."""
    book, want = session.book, order.want
    stop_at = now + order.max_hold
    renews = order.renew and want.ttl < order.max_hold
    renew_at = rule.next_renewal(now, want.ttl) if renews else inf
    state = LeaseState(
        order.name,
        granted,
        want,
        min(deadline, stop_at),
        renew_at if confirm_at is None else confirm_at,
        order.renew,
        now,
        stop_at,
        session.runtime.push(),
        trip.owner,
        place,
    )
    book.see_token(order.name, granted.token)
    if not want.detached:
        book.leases[state.claim_id] = state
        if want.kind != "semaphore":
            # A permit has no owner: it is often taken here and given back by another thread.
            book.owned[order.name, state.owner] = state
        due_at = min(state.renew_at, state.deadline)
        book.pace = min(book.pace, due_at - now)
        session.due(due_at)
    if trip.curious:
        session.hub.tell(events.Granted(order.name, state.token, now - trip.started_at))
    return state
