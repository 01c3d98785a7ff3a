"""Resting between two tries, at a backend without a queue: a quorum of servers.

Whoever was not let in pauses, longer each time and never as long as the others, and asks again
with a new claim. The pause is cut short when a server tells the inbox that the name is free.
Counterpart: ``acquire``, which begins the next try.
"""

from __future__ import annotations

from holdfast.flows import explain
from holdfast.flows.book import Ticket
from holdfast.flows.order import Order
from holdfast.flows.release import withdraw
from holdfast.flows.session import Session
from holdfast.flows.trip import LONG_WAIT, Trip
from holdfast.observe import events
from holdfast.rules import backoff
from holdfast.rules.messages import Ended, Later

SPLITS = 5
"""How often a caller that does not wait comes again because the votes of a quorum were split."""


async def rest(session: Session, order: Order, ticket: Ticket, trip: Trip, reply: Later) -> None:
    """Pause before the next try at a backend without a queue, unless told that the name is free.

    Who does not want to wait comes again only where votes were split and nobody holds it, and not
    for ever.
    """
    runtime = session.runtime
    trip.rested = True
    ticket.holders = reply.holders
    patient = order.wait != 0
    if not patient and reply.unready:
        raise explain.unready(session, order, reply.told)
    if not patient and (reply.holders or trip.tries >= SPLITS):
        raise explain.busy(session, order, trip.started_at, reply.holders, reply.told)
    ticket.bell = runtime.bell()
    ticket.resting = True  # after the bell was hung up: whoever finds it resting rings
    if ticket.hurries:
        ticket.resting = False  # looked at after that: it is told in one way or the other
    if patient:
        ticket.doubtful = True  # from now on it is remembered there as one who waits
        session.keeper.wake()  # it hears for us
    pause = backoff.pause(trip.tries, runtime.dice(), reply.first, reply.longest, reply.jitter)
    trip.tries += 1
    now = runtime.now()
    again_at = now + pause
    for held in reply.holders:
        again_at = min(again_at, max(now + reply.first / 2, now + held.expires_in))
    while ticket.resting and now < again_at:
        if patient and now >= trip.give_up_at:
            raise await _gave_up(session, order, ticket, trip, reply)
        await ticket.bell.wait(min(again_at, max(trip.give_up_at, now)) if patient else again_at)
        session.refuse_if_closed()
        now = runtime.now()
    ticket.resting = False
    if now >= trip.say_at:
        trip.say_at = now + LONG_WAIT
        if session.book.may_say(order.name, now, LONG_WAIT):
            waited_for = now - trip.started_at
            session.hub.tell(events.Waited(order.name, waited_for, reply.holders))


async def _gave_up(
    session: Session, order: Order, ticket: Ticket, trip: Trip, reply: Later
) -> Exception:
    """Say good-bye where the claim is remembered as one who waits; busy only if that is heard."""
    gone = await withdraw(session, order.name, ticket.claim_id, order.want.ttl)
    ticket.doubtful = False  # nothing is left, or the keeper sees to it
    if not isinstance(gone, Ended):
        return explain.unresolved(session, order, trip.started_at)
    if reply.unready:
        return explain.unready(session, order, reply.told)
    return explain.busy(session, order, trip.started_at, reply.holders, reply.told)
