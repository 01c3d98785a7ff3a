"""The lease, seen as what limits the life of a command. Its counterpart is ``attend``."""

from __future__ import annotations

from math import inf

from holdfast import clock
from holdfast.api.lease import Lease
from holdfast.durations import readable
from holdfast.errors import LockLost

SHARE = 1 / 3
"""The grace is at most a third of the lease's full life (DESIGN: section 4, CLI)."""

LONGEST_MARGIN = 0.25
"""For the last signal to be sent, acted upon and seen to have worked."""


def full_life(ttl: float, max_hold: float | None) -> float:
    """Give how long a lease lives that has just been filled up."""
    return ttl if max_hold is None else min(ttl, max_hold)


class LeaseTether:
    """Keeps a command within its lease, which has just been granted."""

    def __init__(self, lease: Lease, ttl: float, max_hold: float | None) -> None:
        life = full_life(ttl, max_hold)
        self.grace = life * SHARE
        self.margin = min(LONGEST_MARGIN, life / 20)
        self._lease = lease
        self._ends_at = -inf
        # Whoever renews cannot get beyond the limit, and who gets this far was not short of much.
        self._limit_nears_at = clock.now() + (inf if max_hold is None else max_hold - ttl * SHARE)

    def left(self) -> float:
        """Seconds until its end; 0 or less when it is over.

        A lease marked broken is not ours to believe in any more, but nobody else gets in before we
        let go of it or it ends; for that we remember the end, which can only have moved away.
        """
        remaining = self._lease.remaining
        if remaining > 0:
            self._ends_at = clock.now() + remaining
            return remaining
        return self._ends_at - clock.now() if self._reason().startswith("broken: ") else 0.0

    def broken(self) -> bool:
        """Whether it will not be prolonged any more."""
        return self._lease.lost

    def why(self) -> str:
        """Say why the command has to be stopped."""
        lease = self._lease
        what = f"the lease on {lease.name!r} (token {lease.token})"
        if reason := self._reason():
            return f"{what} is lost: {reason}"
        left = lease.remaining
        at_limit = clock.now() + left >= self._limit_nears_at
        why = ": --max-hold is over" if at_limit else " and could not be renewed"
        return f"{what} ends in {readable(left)}{why}"

    def _reason(self) -> str:
        try:
            self._lease.check()
        except LockLost as error:
            return error.reason
        return ""
