"""Bugs put into the product on purpose are found: an invariant that cannot fail proves nothing.

Each mutant is a bug that a lock library has really had, or could have. ``search`` must find it
within a few seeds, whatever invariant it shows up in.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from holdfast.errors import BackendUnavailable
from holdfast.flows import acquire, book, keep, rounds
from holdfast.flows import session as sessions
from holdfast.flows.book import Book, LeaseState
from holdfast.flows.session import Session
from holdfast.rules import claim, desk, lease
from holdfast.rules.desk import Desk
from holdfast.rules.holding import Waiter
from holdfast.rules.messages import (
    Claim,
    Ended,
    Granted,
    Item,
    Notice,
    Release,
    Reply,
    Request,
    Want,
    Withdraw,
)
from holdfast.testing.sim import search

Patch = pytest.MonkeyPatch


def margin_dropped(patch: Patch) -> None:
    """Allow nothing for clocks that differ."""
    patch.setattr(lease, "deadline", lambda asked_at, remaining: asked_at + remaining)


def renewal_counted_from_the_reply(patch: Patch) -> None:
    """Let a slow reply make the lease look longer than it is."""
    honest = keep._settle

    def settle(
        session: Session, item: Item, answer: Reply | BackendUnavailable, asked_at: float
    ) -> None:
        honest(session, item, answer, max(asked_at, session.runtime.now()))

    patch.setattr(keep, "_settle", settle)


def renewal_errors_swallowed(patch: Patch) -> None:
    """Take no answer for a good one."""
    honest = keep._settle_lease

    def settle(
        session: Session,
        state: LeaseState,
        item: Item,
        answer: Reply | BackendUnavailable,
        asked_at: float,
    ) -> None:
        if isinstance(answer, BackendUnavailable):
            answer = Granted(item.claim_id, item.token, item.ttl, 0.0)
        honest(session, state, item, answer, asked_at)

    patch.setattr(keep, "_settle_lease", settle)


def end_of_a_lease_ignored(patch: Patch) -> None:
    """Go on although the backend says that the lease is over."""
    honest = keep._settle_lease

    def settle(
        session: Session,
        state: LeaseState,
        item: Item,
        answer: Reply | BackendUnavailable,
        asked_at: float,
    ) -> None:
        if not isinstance(answer, Ended):
            honest(session, state, item, answer, asked_at)

    patch.setattr(keep, "_settle_lease", settle)


def held_is_a_flag(patch: Patch) -> None:
    """Read what some thread should have set, and not the clock."""
    patch.setattr(LeaseState, "holds", lambda self, _now: not (self.loss or self.released))


def release_without_owner_check(patch: Patch) -> None:
    """End whatever is granted, whoever releases."""
    honest = claim._end

    def end(table: Desk, request: Release | Withdraw) -> Ended:
        if table.grants and request.claim_id not in table.grants:
            request = request._replace(claim_id=next(iter(table.grants)))
        return honest(table, request)

    patch.setattr(claim, "_end", end)


def child_keeps_the_parents_lease(patch: Patch) -> None:
    """Let both processes hold after a fork."""
    patch.setattr(rounds, "disinherit", lambda _book: None)


def notice_believed_without_limit(patch: Patch) -> None:
    """Count a life known only from a notice from when it was heard."""
    honest = acquire._take

    async def take(session: Session, order, ticket, outcome, trip, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        ticket.confirmed_at = session.runtime.now()
        return await honest(session, order, ticket, outcome, trip, place)

    patch.setattr(acquire, "_take", take)


def token_kept_at_hand_over(patch: Patch) -> None:
    """Give the next in line the token of the one before."""
    honest = Desk.grant

    def grant(self: Desk, one: Claim | Waiter, life: float) -> Granted:
        last = self.last_token
        granted = honest(self, one, life)
        if not isinstance(one, Waiter) or not last:
            return granted
        self.last_token = last
        self.grants[one.claim_id] = self.grants[one.claim_id]._replace(token=last)
        return granted._replace(token=last)

    patch.setattr(Desk, "grant", grant)


def token_lost_with_the_memory(patch: Patch) -> None:
    """Count tokens in the record alone."""
    honest = Desk.grant

    def grant(self: Desk, one: Claim | Waiter, life: float) -> Granted:
        self.mint = 0
        return honest(self, one._replace(seen_token=0), life)

    patch.setattr(Desk, "grant", grant)


def withdraw_forgets_a_grant(patch: Patch) -> None:
    """Do not give back what was granted meanwhile when a claim is withdrawn."""
    honest = claim._end

    def end(table: Desk, request: Release | Withdraw) -> Ended:
        if isinstance(request, Withdraw) and request.claim_id in table.grants:
            return Ended(request.claim_id, "withdrawn")
        return honest(table, request)

    patch.setattr(claim, "_end", end)


def withdraw_leaves_no_tombstone(patch: Patch) -> None:
    """Let a claim that comes after its own withdrawal come to life."""
    honest = claim._end

    def end(table: Desk, request: Release | Withdraw) -> Ended:
        if isinstance(request, Withdraw) and not table.knows(request.claim_id):
            return Ended(request.claim_id, "unknown")
        return honest(table, request)

    patch.setattr(claim, "_end", end)


def no_answer_taken_for_busy(patch: Patch) -> None:
    """Report the unknown as known."""
    honest = sessions.ask_again

    async def ask(  # type: ignore[no-untyped-def]  # noqa: ANN202
        session: Session,
        request: Request,
        deadline: float,
        first: BackendUnavailable,
        ticket: book.Ticket | None = None,
    ):
        try:
            return await honest(session, request, deadline, first, ticket)
        except BackendUnavailable as error:
            error.outcome = "none"
            raise

    patch.setattr(acquire, "ask_again", ask)


def dead_waiters_stay(patch: Patch) -> None:
    """Let patience never end."""
    honest = Desk.enqueue
    patch.setattr(Desk, "enqueue", lambda self, one: honest(self, one._replace(patience=1e9)))


def waiters_are_passed(patch: Patch) -> None:
    """Let a newcomer in although somebody waits."""

    def has_room(self: Desk, want: Want) -> bool:
        return self.free() >= want.weight

    patch.setattr(Desk, "has_room", has_room)


def orphans_are_kept(patch: Patch) -> None:
    """Renew a lease that nobody ever had for ever."""
    patch.setattr(rounds, "_drop_orphans", lambda _session: inf)


def chores_are_forgotten(patch: Patch) -> None:
    """Do not repeat a release that was not confirmed."""

    async def forget(session: Session, _patience: keep.Patience) -> None:
        session.book.chores.clear()

    patch.setattr(keep, "_finish_chores", forget)


def amnesia_is_ignored(patch: Patch) -> None:
    """Make nothing of another birth mark."""
    honest = Book.deliver

    def deliver(self: Book, notice: Notice) -> None:
        if notice.what != "forgotten":
            honest(self, notice)

    patch.setattr(Book, "deliver", deliver)


def slots_are_shared(patch: Patch) -> None:
    """Give two holders of a semaphore the same slot."""
    patch.setattr(desk.Desk, "_free_slots", lambda _self, weight: tuple(range(weight)))


MUTANTS: dict[Callable[[Patch], None], tuple[str, ...]] = {
    margin_dropped: ("clocks", "crashes"),
    renewal_counted_from_the_reply: ("notices",),
    renewal_errors_swallowed: ("pauses", "clocks"),
    end_of_a_lease_ignored: ("leaps", "storm"),
    held_is_a_flag: ("pauses", "restarts"),
    release_without_owner_check: ("calm", "cancels"),
    child_keeps_the_parents_lease: ("forks", "storm"),
    notice_believed_without_limit: ("pauses", "storm"),
    token_kept_at_hand_over: ("calm", "breaks"),
    token_lost_with_the_memory: ("oblivion", "amnesia"),
    withdraw_forgets_a_grant: ("storm", "forks"),
    withdraw_leaves_no_tombstone: ("cancels", "storm"),
    no_answer_taken_for_busy: ("network", "storm"),
    dead_waiters_stay: ("network", "crashes"),
    waiters_are_passed: ("calm", "network"),
    orphans_are_kept: ("calm", "crashes"),
    chores_are_forgotten: ("network", "cancels"),
    amnesia_is_ignored: ("oblivion", "amnesia"),
    slots_are_shared: ("calm", "pauses"),
}
"""Each bug, with worlds in which it shows early; the others show most of them too."""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_is_found(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    """Some seed violates some invariant."""
    mutant(monkeypatch)
    assert search(MUTANTS[mutant], range(150)) is not None


@pytest.mark.soak
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_is_found_wherever_one_looks(
    mutant: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    """Nobody has to say which world to look at."""
    mutant(monkeypatch)
    assert search((), range(2000)) is not None
