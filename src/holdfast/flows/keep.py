"""The keeper's story: renew what is due, tell losses, keep places, do duties, finish chores.

One turn at a time; between turns the keeper listens to its inbox. All due leases and waiters go in
one batch. An outcome that is unknown neither loses a lease nor extends it: it is asked again until
the deadline, and only a confirmed reply moves a deadline.
"""

from __future__ import annotations

from math import inf

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import Confirmed, LeaseState, Ticket
from holdfast.flows.duties import see_to_duties
from holdfast.flows.lose import lose
from holdfast.flows.session import Session
from holdfast.observe import events
from holdfast.rules import backoff
from holdfast.rules import lease as rule
from holdfast.rules.messages import Ended, Granted, Item, Renew, Renewed, Reply, Waiting


class Pause:
    """How often in a row the backend has not answered, and when to ask it again."""

    def __init__(self) -> None:
        self.failures = 0
        self.again_at = -inf


class Patience(Pause):
    """The keeper's: duties have a pause of their own, so that no renewal waits for their sake."""

    def __init__(self) -> None:
        super().__init__()
        self.duties = Pause()


async def turn(session: Session, patience: Patience) -> float:
    """Do everything that is due; say when to look again."""
    book, runtime = session.book, session.runtime
    book.asleep_until = inf  # whoever adds something from here on wakes us
    now = runtime.now()
    _tell_losses(session, now)
    leases, tickets = _due(session, now)
    if (leases or tickets) and now >= patience.again_at:
        await _renew(session, patience, leases, tickets)
        _tell_losses(session, runtime.now())
    if book.duties:  # before the chores: by those a lease may be given back
        await _see_to_duties(session, patience)
    await _finish_chores(session, patience)
    # Leases taken and given back at this pace need not wake us each time: we look again anyway.
    pace, book.pace = book.pace, inf
    wake_at = min(_next_look(session, patience), runtime.now() + pace)
    book.asleep_until = wake_at
    return wake_at


async def _see_to_duties(session: Session, patience: Patience) -> None:
    now, pause = session.runtime.now(), patience.duties
    # A chore may be the end of a lease, and does not wait for its duty: that is tried now or never.
    if now >= patience.again_at and (now >= pause.again_at or session.book.chores):
        failed = await see_to_duties(session, _brief(session, pause))
        _note(session, pause, failed=failed)


async def _finish_chores(session: Session, patience: Patience) -> None:
    """Say again what a caller could not see confirmed, in time that no lease needs."""
    book, now = session.book, session.runtime.now()
    if not book.chores or now < patience.again_at:
        return
    chores = [book.chores.popleft() for _ in range(len(book.chores))]
    chores = [chore for chore in chores if chore.until > now]  # the rest has ended by itself
    # What was left here since we saw to the duties has its turn when its own was seen to.
    held_back = [chore for chore in chores if chore.request.claim_id in book.duties]
    chores = [chore for chore in chores if chore not in held_back] if held_back else chores
    failed = chores
    try:
        if chores:
            limit = _brief(session, patience)
            requests = [chore.request for chore in chores]
            replies = await session.wire.ask_all(requests, now + limit)
            failed = [
                chore
                for chore, reply in zip(chores, replies, strict=True)
                if isinstance(reply, BackendUnavailable)
            ]
            _note(session, patience, failed=bool(failed))
    finally:
        book.chores.extend(failed)
        book.chores.extend(held_back)


def _tell_losses(session: Session, now: float) -> None:
    for state in tuple(session.book.leases.values()):
        if state.loss or now >= state.deadline:
            lose(session, state, state.why_lost())


def _due(session: Session, now: float) -> tuple[list[LeaseState], list[Ticket]]:
    """Collect what is due, and what is due so soon that it may as well ride along."""
    leases = [
        state
        for state in tuple(session.book.leases.values())
        if state.renew_at <= now + state.ttl / 12
    ]
    tickets = [
        ticket
        for ticket in tuple(session.book.tickets.values())
        if ticket.outcome is None
        and (ticket.renew_at <= now + rule.TICK / 4 or ticket.retry_at <= now)
    ]
    due = any(state.renew_at <= now for state in leases) or any(
        ticket.renew_at <= now or ticket.retry_at <= now for ticket in tickets
    )
    return (leases, tickets) if due else ([], [])


async def _renew(
    session: Session, patience: Patience, leases: list[LeaseState], tickets: list[Ticket]
) -> None:
    asked_at = session.runtime.now()
    items: dict[str, list[Item]] = {}
    for state in leases:
        ttl = min(state.ttl, state.stop_at - asked_at)
        items.setdefault(state.name, []).append(Item(state.claim_id, state.token, ttl))
    for ticket in tickets:
        item = Item(ticket.claim_id, 0, ticket.ttl, rule.PATIENCE)
        items.setdefault(ticket.name, []).append(item)
    requests = [Renew(name, tuple(items[name])) for name in sorted(items, key=str.encode)]
    limit = _limit(session, patience, asked_at)
    replies = await session.wire.ask_all(requests, asked_at + limit)
    failed = False
    for request, reply in zip(requests, replies, strict=True):
        answers = reply.answers if isinstance(reply, Renewed) else ()
        failed = failed or not answers
        for index, item in enumerate(request.items):
            answer = answers[index] if answers else reply
            _settle(session, item, answer, asked_at)
    _note(session, patience, failed=failed)


def _settle(
    session: Session, item: Item, answer: Reply | BackendUnavailable, asked_at: float
) -> None:
    state = session.book.leases.get(item.claim_id)
    if state is not None:
        _settle_lease(session, state, item, answer, asked_at)
        return
    ticket = session.book.tickets.get(item.claim_id)
    if ticket is not None:
        _settle_ticket(ticket, answer, asked_at)


def _settle_lease(
    session: Session,
    state: LeaseState,
    item: Item,
    answer: Reply | BackendUnavailable,
    asked_at: float,
) -> None:
    now = session.runtime.now()
    if now >= state.deadline:
        return  # it is lost, whatever the backend would say
    match answer:
        case Granted():
            confirmed = rule.deadline(asked_at, answer.remaining)
            state.deadline = min(max(state.deadline, confirmed), state.stop_at)
            state.at_limit = item.ttl >= state.stop_at - asked_at
            again_at = rule.next_renewal(asked_at, item.ttl)
            state.renew_at = again_at if state.wants_renewal and not state.at_limit else inf
            if session.hub.curious:
                left = state.deadline - now
                session.hub.tell(events.Renewed(state.name, state.token, left))
        case Ended():
            if answer.reason:
                lose(session, state, f"broken: {answer.reason}")
            else:
                lose(session, state, f"the backend has ended it ({answer.how})")
        case _:
            error = f"unexpected answer ({type(answer).__name__})"
            if isinstance(answer, BackendUnavailable):
                error = answer.message
            left = state.deadline - now
            session.hub.tell(events.RenewalUnknown(state.name, state.token, left, error))


def _settle_ticket(ticket: Ticket, answer: Reply | BackendUnavailable, asked_at: float) -> None:
    match answer:
        case Waiting():
            ticket.confirmed_at = max(ticket.confirmed_at, asked_at)
            ticket.holders = answer.holders
            ticket.retry_at = inf if answer.retry_in is None else asked_at + answer.retry_in
            ticket.renew_at = asked_at + rule.TICK
        case Granted():
            ticket.settle(Confirmed(answer, asked_at))
        case Ended():
            ticket.settle(answer)
        case _:
            pass  # unknown: asked again at the next turn; the place lives on its patience


def _note(session: Session, pause: Pause, *, failed: bool) -> None:
    """After a failure pause a little longer each time; one good answer forgets them all."""
    if failed:
        span = backoff.pause(pause.failures, session.runtime.dice(), longest=rule.TICK)
        pause.again_at = session.runtime.now() + span
        pause.failures += 1
    else:
        pause.failures, pause.again_at = 0, -inf


def _brief(session: Session, pause: Pause) -> float:
    """Say how long what no lease depends on may take.

    There may soon be a lease: so a second at first, and longer for a server that is slow.
    """
    brief = rule.TICK * (1 << min(pause.failures, 8))
    return min(brief, _limit(session, pause, session.runtime.now()))


def _limit(session: Session, pause: Pause, now: float) -> float:
    """Say how long one try may take, so that the others are not forgotten while it hangs.

    At most a third of what is left of the first lease or place to end, and at first a third of the
    shortest ttl in sight, for what is about to begin. Each failure doubles that: a server may be
    slow.
    """
    book = session.book
    soonest_end = shortest = inf
    for state in tuple(book.leases.values()):
        soonest_end = min(soonest_end, state.deadline)
        shortest = min(shortest, state.ttl)
    for ticket in tuple(book.tickets.values()):
        shortest = min(shortest, ticket.ttl)
        # A place whose patience is over is in no hurry, nor is a claim that has no place yet.
        ends_at = ticket.confirmed_at + rule.PATIENCE
        if ticket.outcome is None and now < ends_at < soonest_end:
            soonest_end = ends_at
    brief = max(shortest / 3, 0.05) * (1 << min(pause.failures, 8))
    return min(brief, rule.attempt_limit(now, soonest_end, session.call_limit))


def _next_look(session: Session, patience: Patience) -> float:
    book = session.book
    renew_at = -inf if book.chores else patience.duties.again_at if book.duties else inf
    ends_at = inf
    for state in tuple(book.leases.values()):
        renew_at = min(renew_at, state.renew_at)
        ends_at = min(ends_at, state.deadline)
    for ticket in tuple(book.tickets.values()):
        if ticket.outcome is None:
            renew_at = min(renew_at, ticket.renew_at, ticket.retry_at)
    return min(max(renew_at, patience.again_at), ends_at)
