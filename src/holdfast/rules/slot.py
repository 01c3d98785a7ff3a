"""The slots of time in which a singleton runs: centred on the multiples of its period.

Hosts whose cron fires a little early and a little late meet in the same slot; with slots that
begin on the multiples, the early one would be in the slot before. Pure: time is the backend's
wall clock, in whole microseconds.
"""

from __future__ import annotations

from typing import NamedTuple


class Slot(NamedTuple):
    """From ``starts_at`` until just before ``ends_at``."""

    starts_at: int
    ends_at: int

    def contains(self, now: int) -> bool:
        """Whether ``now`` is in it."""
        return self.starts_at <= now < self.ends_at


def slot_at(now: int, period: int) -> Slot:
    """Give the slot that ``now`` is in: half a period before and after the nearest multiple."""
    nearest = (2 * now + period) // (2 * period)
    return Slot(_half(2 * nearest - 1, period), _half(2 * nearest + 1, period))


def _half(odd: int, period: int) -> int:
    """Give ``odd`` half periods, rounded up so that slots neither overlap nor leave a gap."""
    return -(-odd * period // 2)
