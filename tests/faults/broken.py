"""Workers with a deliberate flaw in their holdfast: ``python -m tests.faults.broken FLAW``.

A fault run that could not fail would prove nothing. Each flaw is one that real libraries have, put
into the rule or into the deadline of every worker, and shows only when something goes wrong; the
runs of `test_broken.py` must find it. Flaws that show in any weather are in `tests/workload`.
"""

import sys
from collections.abc import Callable

from holdfast.rules import claim, lease
from holdfast.rules.desk import Desk
from holdfast.rules.holding import Grant, Waiter
from holdfast.rules.messages import Claim, Ended, Granted, Item, Release, Waiting, Withdraw
from holdfast.testing.workload.worker import main
from tests.workload.sabotaged import replace


def late_deadlines() -> None:
    """Believe for much longer than was granted, as a library without a deadline does."""

    def deadline(asked_at: float, remaining: float) -> float:
        return asked_at + 10 * remaining

    replace(lease, "deadline", deadline)


def renewals_ignored() -> None:
    """Say that a lease was renewed, whatever became of it, and do nothing."""
    renewed = claim._renewed

    def prolong(_self: Desk, _grant: Grant, _ttl: float) -> None:
        pass

    def boast(desk: Desk, item: Item) -> Granted | Waiting | Ended:
        if item.token:
            return Granted(item.claim_id, item.token, item.ttl, desk.mint / 1e6, ())
        return renewed(desk, item)

    replace(Desk, "prolong", prolong)
    replace(claim, "_renewed", boast)


def anybody_releases() -> None:
    """Let go of the name whoever says so: no owner is checked."""
    end = claim._end

    def free_for_all(desk: Desk, request: Release | Withdraw) -> Ended:
        desk.grants.clear()
        return end(desk, request)

    replace(claim, "_end", free_for_all)


def tokens_counted() -> None:
    """Count tokens in the record alone: whoever forgets the record begins anew."""
    grant = Desk.grant

    def counted(desk: Desk, asked: Claim | Waiter, life: float) -> Granted:
        desk.mint = 0
        return grant(desk, asked._replace(seen_token=0), life)

    replace(Desk, "grant", counted)


FLAWS: dict[str, Callable[[], None]] = {
    flaw.__name__: flaw
    for flaw in (late_deadlines, renewals_ignored, anybody_releases, tokens_counted)
}

if __name__ == "__main__":
    FLAWS[sys.argv[1]]()
    main()
