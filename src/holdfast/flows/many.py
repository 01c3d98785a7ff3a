"""Getting hold of several names: all of them or none.

First one try for all in a single step, where the backend can. If any is busy, one after the other
in the order of the names' bytes, holding the earlier ones: since everybody waits in that order, two
callers that name them differently never wait for each other. What is held meanwhile is renewed; if
some of it is lost before all are there, everything is given back and begun anew. However it ends,
nothing is left behind. Counterpart: ``lose``, where the loss of one becomes the loss of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import explain
from holdfast.flows.acquire import acquire
from holdfast.flows.begin import begin
from holdfast.flows.book import Book, Company, Ticket
from holdfast.flows.lose import disown
from holdfast.flows.order import Order
from holdfast.flows.release import PROMPTLY, release_these
from holdfast.flows.session import Session, ask_again
from holdfast.flows.trip import Trip
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.many import Apart, ClaimAll, Together
from holdfast.rules.messages import Busy, Claim, Granted, Refused, Reply, Withdraw


async def acquire_all(
    session: Session, orders: Sequence[Order], place: tuple[str, int], *, at_once: bool
) -> Company:
    """Hold all of the orders' names (different ones, on the same terms), or raise what kept us."""
    session.refuse_if_closed()
    runtime = session.runtime
    orders = sorted(orders, key=lambda order: order.name.encode())
    wait, owner = orders[0].wait, runtime.owner()
    trip = Trip(runtime.now(), wait, session.call_limit, owner, session.hub.curious)
    for order in orders:
        mine = session.book.owned.get((order.name, owner))
        if wait != 0 and mine is not None and mine.holds(trip.started_at):
            raise explain.self_deadlock(order, mine)
    if at_once and len(orders) > 1:
        company = await _in_one_step(session, orders, trip, place)
        if company is not None:
            return company
    while True:
        company = await _one_by_one(session, orders, trip, place)
        if company is not None:
            return company
        if runtime.now() >= trip.give_up_at:
            raise explain.too_late(session, orders[0], unsure=True)


async def _one_by_one(
    session: Session, orders: Sequence[Order], trip: Trip, place: tuple[str, int]
) -> Company | None:
    """Wait for each in turn; ``None``, and nothing is held, if some of it was lost meanwhile."""
    runtime = session.runtime
    company = Company()
    try:
        for order in orders:
            wait = order.wait and max(0.0, trip.give_up_at - runtime.now())
            company.join(await acquire(session, order.with_wait(wait), place))
        if company.fallen is None and company.holds(runtime.now()):
            return company
        await release_these(session, company.states)
    except BaseException as error:
        confirmed = await runtime.finish(release_these(session, company.states))
        if isinstance(error, LockBusy):
            error.waited_for = runtime.now() - trip.started_at
        if isinstance(error, BackendUnavailable) and not confirmed:
            error.outcome = (
                "unknown"  # of the last name nothing was changed, of an earlier one it was
            )
        raise
    return None


async def _in_one_step(
    session: Session, orders: Sequence[Order], trip: Trip, place: tuple[str, int]
) -> Company | None:
    """Try once for all of them; ``None`` if they have to be waited for, or cannot be had so."""
    book, inbox = session.book, session.keeper.inbox()
    claims = tuple(
        Claim(
            order.name,
            session.new_id(),
            order.want,
            session.holder,
            inbox,
            0.0,
            book.seen_token(order.name),
        )
        for order in orders
    )
    tickets = {one.claim_id: Ticket(one.name, one.claim_id, one.want.ttl) for one in claims}
    doubt = tickets[claims[0].claim_id]
    book.tickets.update(tickets)  # before asking: word that one is broken may be first
    try:
        _say_what_is_claimed(session, orders, trip)
        reply, asked_at = await _ask(session, ClaimAll(claims), trip, doubt)
        company = _taken(session, orders, reply, asked_at, trip, place)
        if company is not None and _taken_away(book, tickets.values()):
            await session.runtime.finish(_forget(session, claims))
            return None
        if company is None:
            _withdraw_later(session, claims, reply, everything=doubt.doubtful)
            _say_why_not(session, orders, trip, reply)
    except (LockBusy, Misuse):
        raise  # the backend has decided, and what there was to be withdrawn is
    except BackendUnavailable as error:
        if error.outcome == "unknown":
            for claim in claims:
                _leave_withdrawal(session, claim)
        raise
    except BaseException:  # cancelled or interrupted, at whatever point
        await session.runtime.finish(_forget(session, claims))
        raise
    finally:
        for claim_id in tickets:
            book.tickets.pop(claim_id, None)
    return company


def _say_what_is_claimed(session: Session, orders: Sequence[Order], trip: Trip) -> None:
    if trip.curious:
        for order in orders:
            session.hub.tell(events.Claimed(order.name, order.wait))


def _taken_away(book: Book, tickets: Iterable[Ticket]) -> bool:
    """Whether nothing may begin: the client was closed, or one was broken, before the reply."""
    return book.closing or not all(ticket.good() for ticket in tickets)


async def _ask(
    session: Session, request: ClaimAll, trip: Trip, doubt: Ticket
) -> tuple[Reply, float]:
    """Ask, and again while the backend has not answered; ``doubt`` remembers lost replies."""
    asked_at = session.runtime.now()
    try:
        limit = min(trip.answer_by, asked_at + session.call_limit)
        return await session.wire.ask(request, limit), asked_at
    except BackendUnavailable as error:
        return await ask_again(session, request, trip.answer_by, error, doubt)


def _taken(
    session: Session,
    orders: Sequence[Order],
    reply: Reply,
    asked_at: float,
    trip: Trip,
    place: tuple[str, int],
) -> Company | None:
    """Turn the grants into leases if there is one for every name, and enough of each is left."""
    if not isinstance(reply, Together):
        return None
    grants = [one for one in reply.standings if isinstance(one, Granted)]
    if len(grants) < len(orders):
        return None
    deadlines = [rule.deadline(asked_at, granted.remaining) for granted in grants]
    now = session.runtime.now()
    if now >= min(deadlines):
        return None
    company = Company()
    for order, granted, deadline in zip(orders, grants, deadlines, strict=True):
        company.join(begin(session, order, granted, deadline, place, trip, now))
    return company


def _say_why_not(session: Session, orders: Sequence[Order], trip: Trip, reply: Reply) -> None:
    """Raise what no waiting can change; otherwise return, and they are waited for."""
    if isinstance(reply, Apart):
        return
    if not isinstance(reply, Together):
        raise explain.nonsense(session, reply)
    for order, standing in zip(orders, reply.standings, strict=True):
        if isinstance(standing, Refused):
            raise explain.refused(session, order, standing)
    for order, standing in zip(orders, reply.standings, strict=True):
        taken = isinstance(standing, Busy) and (standing.holders or standing.waiters)
        if order.wait == 0 and isinstance(standing, Busy) and taken:
            raise explain.busy(session, order, trip.started_at, standing.holders)


def _withdraw_later(
    session: Session, claims: Sequence[Claim], reply: Reply, *, everything: bool
) -> None:
    """Let the keeper take back what was granted in vain, and after a lost reply all of them."""
    standings = reply.standings if isinstance(reply, Together) else ()
    granted = {one.claim_id for one in standings if isinstance(one, Granted)}
    for claim in claims:
        if everything or claim.claim_id in granted:
            _leave_withdrawal(session, claim)


async def _forget(session: Session, claims: Sequence[Claim]) -> None:
    """Leave nothing of claims whose fate is not known; what is not confirmed the keeper repeats."""
    for claim in claims:
        state = session.book.leases.pop(claim.claim_id, None)
        if state is not None:
            disown(session, state)
    unsure = list(claims)
    try:
        by = session.runtime.now() + min(PROMPTLY, session.call_limit)
        requests = [Withdraw(claim.name, claim.claim_id) for claim in claims]
        replies = await session.wire.ask_all(requests, by)
        answered = zip(claims, replies, strict=True)
        unsure = [claim for claim, reply in answered if isinstance(reply, BackendUnavailable)]
    finally:
        for claim in unsure:
            _leave_withdrawal(session, claim)


def _leave_withdrawal(session: Session, claim: Claim) -> None:
    until = session.runtime.now() + max(claim.want.ttl, rule.PATIENCE)
    session.leave(Withdraw(claim.name, claim.claim_id), until)
