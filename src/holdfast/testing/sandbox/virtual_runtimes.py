"""The two runtimes on a virtual clock: only how they read it and wait for it is their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ports import Bell
from holdfast.runtimes.aio import AioRuntime, LoopBell
from holdfast.runtimes.sync import SyncRuntime
from holdfast.testing.sandbox.rest import Alarm

if TYPE_CHECKING:
    from holdfast.testing.sandbox.virtual_clock import VirtualClock

DICE = 0.5
"""What is thrown on virtual time: pauses are the same in every run."""

STUCK = 3.0
"""After how many real seconds of standing still somebody who waits is worth a line in the log."""


class VirtualBell:
    """A thread's bell."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._alarm = Alarm()
        self.ring = self._alarm.ring

    async def wait(self, until: float) -> None:
        """Block until rung, or until the clock shows ``until``."""
        self._clock.sleep(self._alarm, until)


class VirtualLoopBell(LoopBell):
    """A task's bell."""

    __slots__ = ("_clock",)

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    async def wait(self, until: float) -> None:
        """Suspend until rung, or until the clock shows ``until``."""
        if self._rung or until <= self._clock.now():
            return
        self._future = self._loop.create_future()
        reminder = self._loop.call_later(STUCK, self._clock.complain, until)
        self._clock.tasks.begin(self, until)
        try:
            await self._future
        finally:
            self._clock.tasks.end(self)
            reminder.cancel()
            self._future = None

    def hurry(self) -> None:
        """Let the wait end, because its time has come."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hear)


class VirtualSyncRuntime(SyncRuntime):
    """Threads on a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.now = clock.now

    def dice(self) -> float:
        """Throw what is always thrown here."""
        return DICE

    def bell(self) -> Bell:
        """Make a bell for this thread."""
        return VirtualBell(self._clock)

    async def sleep(self, seconds: float) -> None:
        """Block until the clock has moved on so far."""
        self._clock.sleep(Alarm(), self._clock.now() + seconds)


class VirtualAioRuntime(AioRuntime):
    """Tasks on a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self.now = clock.now

    def dice(self) -> float:
        """Throw what is always thrown here."""
        return DICE

    def bell(self) -> Bell:
        """Make a bell for this task."""
        return VirtualLoopBell(self._clock)

    async def sleep(self, seconds: float) -> None:
        """Suspend until the clock has moved on so far."""
        await VirtualLoopBell(self._clock).wait(self._clock.now() + seconds)
