"""The backend's own clock: what the holders' clock says, plus what a test makes it say wrong."""

from __future__ import annotations

from collections.abc import Callable


class Skew:
    """One thing that is wrong with the clock: a jump, another rate, or both."""

    __slots__ = ("by", "rate", "since")

    def __init__(self, by: float, rate: float, since: float) -> None:
        self.by = by
        self.rate = rate
        self.since = since

    def at(self, true_time: float) -> float:
        """Say how far the clock is ahead because of this."""
        return self.by + (true_time - self.since) * (self.rate - 1.0)


class ServerClock:
    """True time plus every skew there is; when a skew ends, the clock is right again."""

    def __init__(self, true_time: Callable[[], float], wall: Callable[[], float]) -> None:
        self._true_time = true_time
        self._wall = wall
        self._skews: tuple[Skew, ...] = ()

    def now(self) -> float:
        """Read the clock on which leases lapse."""
        return self._true_time() + self._ahead()

    def mint(self) -> int:
        """Read the wall clock in microseconds: from it tokens are made."""
        return int((self._wall() + self._ahead()) * 1e6)

    def skew(self, by: float, rate: float) -> Skew:
        """Begin to be wrong."""
        wrong = Skew(by, rate, self._true_time())
        self._skews = (*self._skews, wrong)
        return wrong

    def correct(self, wrong: Skew) -> None:
        """End one way of being wrong."""
        self._skews = tuple(one for one in self._skews if one is not wrong)

    def _ahead(self) -> float:
        if not self._skews:
            return 0.0
        true_time = self._true_time()
        return sum(one.at(true_time) for one in self._skews)
