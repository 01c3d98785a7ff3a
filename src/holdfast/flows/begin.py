"""From a grant to a lease: under which the body may start, if enough of the grant is left.

A reply is counted from when its question was sent. A notice is counted from the last sure word that
the claim was still waiting; what is too short to start under by then is confirmed first.
"""

from __future__ import annotations

from math import inf

from holdfast.errors import BackendUnavailable
from holdfast.flows import explain
from holdfast.flows.book import Confirmed, Handed, LeaseState, Outcome, Ticket
from holdfast.flows.lose import disown
from holdfast.flows.order import Order
from holdfast.flows.release import withdraw
from holdfast.flows.session import Session, ask_until
from holdfast.flows.trip import Trip
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.messages import Granted, Item, Renew, Renewed, Withdraw


async def take(
    session: Session,
    order: Order,
    ticket: Ticket,
    outcome: Outcome,
    trip: Trip,
    place: tuple[str, int],
) -> LeaseState | None:
    """Turn a grant into a lease under which the body may start, if enough of it is left."""
    session.refuse_if_closed()
    now = session.runtime.now()
    if ticket.broken:  # nothing may start under it; the word that passes it on
        leave_withdrawal(session, order, ticket.claim_id)
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
            return state if ticket.good() else never_began(session, order, trip, state)
        confirmed = await _confirm(session, order, granted, trip)
    else:
        confirmed = outcome if isinstance(outcome, Confirmed) else None
    if confirmed is None:
        return None
    deadline = rule.deadline(confirmed.asked_at, confirmed.granted.remaining)
    now = session.runtime.now()
    if now < deadline:
        state = begin(session, order, confirmed.granted, deadline, place, trip, now)
        # It may have been broken, or its client closed, while it was being confirmed.
        return state if ticket.good() else never_began(session, order, trip, state)
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
        leave_withdrawal(session, order, granted.claim_id)
        trip.unsure = True
        return None
    if isinstance(reply, Renewed) and isinstance(reply.answers[0], Granted):
        return Confirmed(reply.answers[0], asked_at)
    leave_withdrawal(session, order, granted.claim_id)  # broken perhaps: this passes it on
    trip.unsure = True
    return None


def never_began(session: Session, order: Order, trip: Trip, state: LeaseState) -> LeaseState | None:
    """Take back a lease that was heard to be broken, and give word that passes it on."""
    take_back(session, state)
    leave_withdrawal(session, order, state.claim_id)
    trip.unsure = True
    return None


def take_back(session: Session, state: LeaseState) -> None:
    """Forget a lease that another thread heard to be broken while it was being entered."""
    if session.book.leases.pop(state.claim_id, None) is not None:
        disown(session, state)


def leave_withdrawal(session: Session, order: Order, claim_id: str) -> None:
    """Let the keeper end a claim that may still be granted, however long that takes."""
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
    book, owner = session.book, trip.owner
    name, want, _, renew, max_hold, _ = order
    claim_id, token, _, _, _ = granted
    ttl = want.ttl
    stop_at = now + max_hold
    if deadline > stop_at:  # noqa: PLR1730 - here and below: min() takes as long as ten of these
        deadline = stop_at
    due_at = confirm_at
    if due_at is None:
        due_at = rule.first_renewal(now, deadline, ttl) if renew and ttl < max_hold else inf
    push = session.runtime.push(owner)
    state = LeaseState(
        name, granted, want, deadline, due_at, renew, now, stop_at, push, owner, place
    )
    if trip.handed:
        state.handed, state.behind = True, trip.behind
    book.see_token(name, token)
    if not want.detached:
        book.leases[claim_id] = state
        if want.kind != "semaphore":
            # A permit has no owner: it is often taken here and given back by another thread.
            book.owned[name, owner] = state
        if due_at > deadline:  # noqa: PLR1730
            due_at = deadline
        if due_at - now < book.pace:  # noqa: PLR1730
            book.pace = due_at - now
        if due_at < book.asleep_until:
            session.due(due_at)
    if trip.curious:
        session.hub.tell(events.Granted(name, token, now - trip.started_at))
    return state
