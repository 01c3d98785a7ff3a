"""A host's clock in a simulated world: its own zero, its own rate, and steps that somebody makes.

True time is the scheduler's, counted from the start of the world; nobody in the world can read it.
"""

from __future__ import annotations

from math import inf

NUDGE = 1e-9
"""A clock that is asked for too early by rounding is asked again this much later."""


class Clock:
    """Shows ``base + rate * time``."""

    __slots__ = ("base", "rate")

    def __init__(self, base: float = 0.0, rate: float = 1.0) -> None:
        self.base = base
        self.rate = rate

    def at(self, time: float) -> float:
        """Read the clock at a true time."""
        return self.base + self.rate * time

    def when(self, shown: float, now: float) -> float:
        """Give the true time, not before ``now``, from which on the clock shows ``shown``."""
        if shown == inf:
            return inf
        time = (shown - self.base) / self.rate
        while self.base + self.rate * time < shown:
            time += NUDGE
        return max(time, now)

    def step(self, seconds: float) -> None:
        """Set the clock forwards or, with a negative number, backwards."""
        self.base += seconds
