"""How ears are woken: those that sleep in ``poll`` by a pipe, those without a descriptor by a lock.

A lock and not an ``Event``: waking must be safe in a finaliser, which may run on a thread that
is in the middle of an ``Event``'s own bookkeeping.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

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


class PipedEar:
    """What ears have in common that sleep in ``poll``, beside a pipe that wakes them."""

    def __init__(self) -> None:
        self._bell, self._clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._clapper, False)

    def wake(self) -> None:
        """Ring one's own bell; a full pipe is awake anyway."""
        with suppress(OSError):
            os.write(self._clapper, b"\0")

    def close(self) -> None:
        """Stop hearing; the wire hangs up."""
        self.forget()

    def forget(self) -> None:
        """Close the inherited pipe only."""
        bell, self._bell = self._bell, -1
        clapper, self._clapper = self._clapper, -1
        for end in (bell, clapper):
            if end >= 0:
                os.close(end)

    def lifeline(self) -> int | None:
        """Give none: a server cannot tell a dead client from a slow one before its lease ends."""
        return None
