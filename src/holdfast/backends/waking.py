"""How ears are woken: those that sleep in ``poll`` by a pipe, those without a descriptor by a lock.

A lock and not an ``Event``: waking must be safe in a finaliser, which may run on a thread that
is in the middle of an ``Event``'s own bookkeeping.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

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


class Clapper:
    """The end of a pipe that others write into, closed when the last of them has let go of it.

    Anybody may ring while the ear is being closed. Were the descriptor closed by number then, the
    next file to be opened would get that number, and the byte. A lock would not do instead: whoever
    is interrupted, or is a finaliser in the middle of another ring, must not hold up the others.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def ring(self, word: bytes = b"\0") -> None:
        """Write a word; a full pipe is awake anyway, and who is closed has nobody to wake."""
        try:  # noqa: SIM105 - callers wait for this, and suppress takes three calls
            os.write(self._descriptor, word)
        except OSError:
            pass

    def close(self, _close: Callable[[int], None] = os.close) -> None:
        """Close it now: for the last one, and for a forked child, where nobody else runs."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _close(descriptor)

    __del__ = close


SILENT = Clapper(-1)
"""What is rung when nobody is there to hear it."""


class PipedEar:
    """What ears have in common that sleep in ``poll``, beside a pipe that wakes them."""

    def __init__(self) -> None:
        self._bell, clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(clapper, False)
        self._clapper = Clapper(clapper)

    def wake(self) -> None:
        """Ring one's own bell."""
        self._clapper.ring()

    def close(self) -> None:
        """Stop hearing; the wire hangs up."""
        self._clapper = SILENT  # the other one is closed as soon as nobody rings it any more
        self._close_bell()

    def forget(self) -> None:
        """Close the inherited pipe only."""
        clapper, self._clapper = self._clapper, SILENT
        clapper.close()
        self._close_bell()

    def _close_bell(self) -> None:
        bell, self._bell = self._bell, -1
        if bell >= 0:
            os.close(bell)

    def lifeline(self) -> int | None:
        """Give none: a server cannot tell a dead client from a slow one before its lease ends."""
        return None
