"""For ears without a descriptor: sleep until woken, on a plain lock.

A lock and not an ``Event``: waking must be safe in a finaliser, which may run on a thread that
is in the middle of an ``Event``'s own bookkeeping.
"""

from __future__ import annotations

import threading

from holdfast import clock

LONGEST = 3600.0


class Waker:
    """Woken twice is woken once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def sleep(self, until: float) -> None:
        """Block until woken, or until ``until``."""
        self._lock.acquire(timeout=min(max(0.0, until - clock.now()), LONGEST))

    def wake(self) -> None:
        """Make ``sleep`` return, now or next time."""
        try:
            self._lock.release()
        except RuntimeError:  # woken before, and nobody has slept since
            return
