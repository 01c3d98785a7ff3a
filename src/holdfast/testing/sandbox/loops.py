"""Tasks on a virtual clock: who of them waits for it, and when a loop has nothing left to do.

Counterpart of ``rest``, which does the same for threads.
"""

from __future__ import annotations

import asyncio
import threading
import time
from math import inf
from typing import Protocol
from weakref import WeakSet

from holdfast.testing.sandbox.rest import LIMIT, Alarm

CALM = 3
"""A loop is at rest when in so many turns in a row none of its tasks could go on."""

GLANCE = 0.005
"""How often to look whether a loop in another thread has ended: it gives no sign."""

LONGEST = 1000
"""How many turns to give a loop: a task that spins (``sleep(0)`` in a loop) is never at rest."""


class Rings(Protocol):
    """What a task waits on."""

    def hurry(self) -> None:
        """Let the wait end, from any thread."""
        ...


class LoopSleeps:
    """The tasks that wait for a virtual clock, whatever loop they are on."""

    def __init__(self) -> None:
        self.awakenings = 0
        self._lock = threading.Lock()
        self._until: dict[Rings, float] = {}
        self._loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()

    def begin(self, task: Rings, until: float) -> None:
        """Note that a task waits."""
        with self._lock:
            self._until[task] = until

    def know(self, loop: asyncio.AbstractEventLoop) -> None:
        """Note a loop whose tasks use the sandbox."""
        with self._lock:
            self._loops.add(loop)

    def end(self, task: Rings) -> None:
        """Note that it does not any more."""
        with self._lock:
            self._until.pop(task, None)
            self.awakenings += 1

    def soonest(self) -> float:
        """Say until when the first of them wants to wait."""
        with self._lock:
            return min(self._until.values(), default=inf)

    def hurry_due(self, now: float) -> None:
        """Wake everybody whose time has come."""
        with self._lock:
            due = [task for task, until in self._until.items() if until <= now]
        for task in due:
            task.hurry()

    def elsewhere(self) -> list[asyncio.AbstractEventLoop]:
        """Give the loops that run in other threads than this one."""
        here = running_loop()
        with self._lock:
            return [loop for loop in self._loops if loop.is_running() and loop is not here]


async def come_to_rest() -> None:
    """Turn the running loop until all of its other tasks wait for something."""
    me = asyncio.current_task()
    calm = 0
    for _ in range(LONGEST):
        await asyncio.sleep(0)
        waiting = all(_waits(task) for task in asyncio.all_tasks() if task is not me)
        calm = calm + 1 if waiting else 0
        if calm == CALM:
            return


def let_rest(loop: asyncio.AbstractEventLoop) -> None:
    """Wait until a loop that runs in another thread is at rest, or has ended.

    By plain callbacks and not by a task: the loop may end meanwhile and leave a task undone.
    """
    at_rest = Alarm()

    def look(turns: int, calm: int) -> None:
        waiting = all(_waits(task) for task in asyncio.all_tasks(loop))
        calm = calm + 1 if waiting else 0
        if calm == CALM or turns == 0:
            at_rest.ring()
        else:
            loop.call_soon(look, turns - 1, calm)

    try:
        loop.call_soon_threadsafe(look, LONGEST, 0)
    except RuntimeError:  # it is closed
        return
    give_up_at = time.monotonic() + LIMIT
    while not at_rest.hear(GLANCE) and loop.is_running():
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"the event loop {loop!r} in another thread does not turn")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the loop that runs in this thread, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _waits(task: asyncio.Task[object]) -> bool:
    """Whether the task awaits something that has not come yet."""
    # No public name tells what a task waits for; this one is as old as asyncio's C tasks are.
    awaited: asyncio.Future[object] | None = getattr(task, "_fut_waiter", None)
    return awaited is not None and not awaited.done()
