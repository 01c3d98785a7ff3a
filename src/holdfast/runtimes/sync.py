"""The runtime of threads: every await below a flow blocks the calling thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from holdfast import clock
from holdfast.observe.hub import complain
from holdfast.ports import Bell, Push

T = TypeVar("T")

LONGEST_BLOCK = 3600.0
"""Waits are cut to this length: a lock's timeout has a limit, and a bell may return early."""


class ThreadBell:
    """A bell on a plain lock: cheaper than an Event, and a Ctrl-C gets through."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the waiting thread; rung twice is rung once."""
        try:
            self._lock.release()
        except RuntimeError:  # it was rung before and nobody has waited since
            return

    async def wait(self, until: float) -> None:
        """Block until rung, or until ``until``."""
        self.block(until)

    def block(self, until: float) -> bool:
        """Block like ``wait``; say whether it was rung."""
        return self._lock.acquire(timeout=min(max(0.0, until - clock.now()), LONGEST_BLOCK))


def _in_place(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:  # noqa: BLE001 - whatever it is, the keeper has others to tell
        complain("the callback %r failed on the loss of a lease", callback)


class SyncRuntime:
    """Time and waiting for threads. The owner is the thread object: idents are used again."""

    now = staticmethod(clock.now)
    owner = staticmethod(threading.current_thread)

    def dice(self) -> float:
        """Throw the dice."""
        return int.from_bytes(os.urandom(4)) / (1 << 32)

    def bell(self) -> Bell:
        """Make a bell for this thread."""
        return ThreadBell()

    def push(self, owner: object) -> Push:  # noqa: ARG002 - the port's shape
        """Call back in place: on the keeper's thread."""
        return _in_place

    async def sleep(self, seconds: float) -> None:
        """Block."""
        time.sleep(seconds)  # noqa: ASYNC251 - in sync, suspending means blocking

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Just do it: a second Ctrl-C during the clean-up leaves it to the keeper."""
        return await work
