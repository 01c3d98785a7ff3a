"""Workers with a deliberate flaw in their holdfast: ``python -m tests.faults.broken FLAW``.

A fault run that could not fail would prove nothing. Each flaw is one that real libraries have, put
into the rule or into the deadline of every worker; the runs of `test_broken.py` must find it.
"""

import sys
from collections.abc import Callable

from holdfast.rules import claim, lease
from holdfast.rules.desk import Desk
from holdfast.rules.holding import Grant, Waiter
from holdfast.rules.messages import Claim, Ended, Granted, Item, Release, Waiting, Withdraw
from holdfast.testing.workload.worker import main


def late_deadlines() -> None:
    """Believe for much longer than was granted, as a library without a deadline does."""

    def deadline(asked_at: float, remaining: float) -> float:
        return asked_at + 10 * remaining

    lease.deadline = deadline


def renewals_ignored() -> None:
    """Say that a lease was renewed, whatever became of it, and do nothing."""
    renewed = claim._renewed

    def prolong(_self: Desk, _grant: Grant, _ttl: float) -> None:
        pass

    def boast(desk: Desk, item: Item) -> Granted | Waiting | Ended:
        if item.token:
            return Granted(item.claim_id, item.token, item.ttl, desk.mint / 1e6, ())
        return renewed(desk, item)

    Desk.prolong = prolong  # type: ignore[method-assign, assignment]
    claim._renewed = boast


def anybody_releases() -> None:
    """Let go of the name whoever says so: no owner is checked."""
    end = claim._end

    def free_for_all(desk: Desk, request: Release | Withdraw) -> Ended:
        desk.grants.clear()
        return end(desk, request)

    claim._end = free_for_all


def tokens_go_back() -> None:
    """Count tokens down."""
    grant = Desk.grant

    def backwards(self: Desk, asked: Claim | Waiter, life: float) -> Granted:
        self.mint = 10**9 - self.mint % 10**9
        self.last_token = 0
        return grant(self, asked._replace(seen_token=0), life)

    Desk.grant = backwards  # type: ignore[method-assign, assignment]


FLAWS: dict[str, Callable[[], None]] = {
    flaw.__name__: flaw
    for flaw in (late_deadlines, renewals_ignored, anybody_releases, tokens_go_back)
}

if __name__ == "__main__":
    FLAWS[sys.argv[1]]()
    main()
