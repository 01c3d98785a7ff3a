"""The keeper's rounds: what it does between two looks into its inbox, until its client is closed.

One round drops the leases that nobody has, does a turn of ``flows.keep`` and says how long to
listen. ``runtimes.keeper`` only goes the rounds on its thread, the simulator on its virtual clock.
Here is also what becomes of a book when its process forks. Nothing takes a lock or waits for
anything but the wire.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from holdfast.flows.book import Book, Chore, LeaseState
from holdfast.flows.duties import drop_duties
from holdfast.flows.keep import Patience, turn
from holdfast.flows.lose import disown
from holdfast.flows.session import Session
from holdfast.rules.lease import PATIENCE
from holdfast.rules.messages import Notice, Release, Withdraw

LOOKS = 5
"""How often the keeper looks for a lease's public face before it takes the lease for nobody's."""

BETWEEN_LOOKS = 0.25
"""Seconds. Making a face takes microseconds, unless the process stands still: a full collection of
a large heap, a stopped container. Then both threads do, and that counts for one look, not more."""

ON_ITS_WAY = (LOOKS - 1) * BETWEEN_LOOKS
"""How long a lease may be without its public face while the keeper is awake."""


async def go_round(session: Session, patience: Patience) -> float | None:
    """Do what is due and say until when to listen; ``None`` when the client is closed and done."""
    book = session.book
    while not _finished(session):
        look_at = _drop_orphans(session)
        on_their_way = [state for state in tuple(book.leases.values()) if state.face is None]
        until = min(look_at, await turn(session, patience))
        if _give_up_orphans(session, on_their_way):
            continue  # with a chore that cannot wait
        if book.chores or not book.closing:
            return until
    drop_duties(session)
    return None


def _finished(session: Session) -> bool:
    """Whether the client is closed and nothing is left to do; then nobody leaves more."""
    book = session.book
    if not _wound_up(session):
        return False
    book.closed = True
    if book.chores:  # left at the last moment, by a caller that had seen us at work
        book.closed = False
    return book.closed


def hear(session: Session, notices: Iterable[Notice]) -> None:
    """Take in what the keeper itself has listened to; it looks at the book next anyway."""
    for notice in notices:
        session.book.deliver(notice)


def overhear(session: Session, notice: Notice) -> None:
    """Take in what somebody else has heard for the keeper: a thread, a loop, a wire."""
    session.book.deliver(notice)
    if notice.what != "granted":
        session.keeper.wake()  # the loss is told on the keeper's own thread


def disinherit(book: Book) -> None:
    """Let a forked child hold nothing: all that its copy of the book names is its parent's."""
    for state in tuple(book.leases.values()):
        state.loss = "this process was forked, and the lease stayed with its parent"
        state.released = True  # so that nothing done here reaches the parent's grant
    for ticket in tuple(book.tickets.values()):
        ticket.renew_at = ticket.retry_at = inf


def _drop_orphans(session: Session) -> float:
    """Give back leases that nobody has.

    An interruption came between the grant and the lease, or in the middle of the release. Say
    when to look again, if there is one that may still be on its way to its owner.
    """
    book, now = session.book, session.runtime.now()
    look_at = inf
    for state in tuple(book.leases.values()):
        if not state.released and (state.face is not None or _is_awaited(state)):
            continue
        if now >= state.look_at:
            state.looks += 1
            state.look_at = now + BETWEEN_LOOKS
        if state.looks < LOOKS:
            look_at = min(look_at, state.look_at)
        elif book.leases.pop(state.claim_id, None) is not None:
            state.loss = "it was never taken: the call that asked for it was interrupted"
            disown(session, state)
            _give_back(session, state)
    return look_at


def _is_awaited(state: LeaseState) -> bool:
    """Whether it is kept for those that are yet to be acquired with it."""
    return state.company is not None and state.company() is not None


def _give_up_orphans(session: Session, on_their_way: list[LeaseState]) -> bool:
    """Give back what was lost before anybody had it: nobody else would; say whether there was any.

    A grant that was broken passes on with this word. So it is not said while somebody may be about
    to get the lease and to begin.
    """
    now = session.runtime.now()
    lost = [
        state
        for state in on_their_way
        if state.face is None
        and state.claim_id not in session.book.leases
        and state.loss
        and (now >= state.deadline or now >= state.started_at + ON_ITS_WAY)
    ]
    for state in lost:
        _give_back(session, state)
    return bool(lost)


def _give_back(session: Session, state: LeaseState) -> None:
    """Leave word for the backend.

    For a whole ttl: the deadline that we know of does not bound what the backend holds, since a
    renewal whose answer was lost may have moved it.
    """
    until = session.runtime.now() + state.ttl
    session.book.chores.append(Chore(Release(state.name, state.claim_id), until))


def _wound_up(session: Session) -> bool:
    """When the client is closed, turn what it still holds into chores, and end with them."""
    book = session.book
    if not book.closing:
        return False
    for claim_id in tuple(book.leases):
        state = book.leases.pop(claim_id, None)
        if state is not None:
            state.released = True
            _give_back(session, state)
    for claim_id in tuple(book.tickets):
        ticket = book.tickets.pop(claim_id, None)
        if ticket is not None:
            ticket.broken = True  # its grant may be on the way: nothing begins under it
            until = session.runtime.now() + PATIENCE
            book.chores.append(Chore(Withdraw(ticket.name, claim_id), until))
            if ticket.bell is not None:
                ticket.bell.ring()
    return not book.chores
