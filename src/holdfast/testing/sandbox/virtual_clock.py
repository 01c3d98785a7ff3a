"""A clock that a test moves: ten minutes pass in no time, and everything due in them happens.

Time stands still by itself. It passes in ``advance`` (``await advance_async`` on an event loop), in
``run``, and where the thread that made the clock waits in holdfast itself, since nobody else would
move it meanwhile. It goes from one due moment to the next: at each, whoever waits for it is woken,
and before it goes on everybody is at rest again (``rest`` for threads, ``loops`` for tasks). So
renewals, lapses and the ends of waits come in their order, and nothing depends on how fast the
machine is.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from holdfast.durations import Duration, readable, seconds
from holdfast.errors import Misuse
from holdfast.observe.logs import logger
from holdfast.ports import Runtime
from holdfast.runtimes.sync import SyncRuntime
from holdfast.testing.sandbox.loops import LoopSleeps, come_to_rest, let_rest, running_loop
from holdfast.testing.sandbox.rest import Alarm, Rest
from holdfast.testing.sandbox.virtual_runtimes import (
    STUCK,
    VirtualAioRuntime,
    VirtualSyncRuntime,
)

T = TypeVar("T")

START = 1_000_000.0
"""What the clock shows at first: any number would do."""

GLANCE = 0.001
"""How often ``run`` looks again, in real seconds, while nobody waits for this clock."""


class VirtualClock:
    """The time of one sandbox: of its clients, their keepers and their backend."""

    def __init__(self) -> None:
        self.rest = Rest()
        self.tasks = LoopSleeps()
        self._now = START
        self._began_at = time.time()
        self._maker = threading.get_ident()
        self._turn = threading.Lock()

    def now(self) -> float:
        """Read the clock, in seconds since some fixed moment."""
        return self._now

    def wall(self) -> float:
        """Read it as a wall clock: real time when it was made, and moving with it since."""
        return self._began_at + self.elapsed

    @property
    def elapsed(self) -> float:
        """Seconds that have passed on it since it was made."""
        return self._now - START

    def advance(self, by: Duration) -> None:
        """Let time pass; return when everything that was due by then has been done.

        On an event loop this would keep its tasks from doing their part: ``advance_async`` there.
        """
        span = seconds(by, "advance")
        if running_loop() is not None:
            raise Misuse(
                "this would keep the tasks of the running event loop from doing their part; write"
                " `await clock.advance_async(...)`"
            )
        if self.rest.is_keeper():
            raise Misuse("a callback of holdfast cannot let time pass: the test itself must")
        until = self._now + span
        with self._moving():
            while self._step(until):
                pass
            self._now = max(self._now, until)

    async def advance_async(self, by: Duration) -> None:
        """Do what ``advance`` does, on an event loop: its tasks do their part meanwhile."""
        until = self._now + seconds(by, "advance")
        await self._settle_async()
        while self._jump(until):
            await self._settle_async()
        self._now = max(self._now, until)

    async def run(self, work: Awaitable[T]) -> T:
        """Await ``work`` and, whenever nobody can go on, let time pass to what is due next."""
        me = asyncio.current_task()
        mover = asyncio.create_task(self._move_on())

        def stumbled(mover: asyncio.Task[None]) -> None:
            if not mover.cancelled() and me is not None:
                me.cancel()  # nobody else would let time pass: the work must not wait for ever

        mover.add_done_callback(stumbled)
        try:
            return await work
        except asyncio.CancelledError:
            if not mover.done() or me is None:
                raise
            me.uncancel()
            await mover  # which raises what it has stumbled over
            raise
        finally:
            mover.cancel()

    def sleep(self, alarm: Alarm, until: float) -> None:
        """Block the calling thread until ``alarm`` is rung, or until the clock shows ``until``."""
        if threading.get_ident() == self._maker:
            self._pass_until(alarm, until)
        elif until <= self._now:
            alarm.take()
        elif self.rest.is_keeper():
            self.rest.lie_down(alarm, until)
        else:
            self._stand_still(alarm, until)

    def enter_loop(self) -> None:
        """Note that a task of the running loop asks for something: it is given time to rest."""
        self.tasks.know(asyncio.get_running_loop())

    def on_its_time(self, runtime: Runtime) -> Runtime:
        """Give the twin of ``runtime`` that reads this clock and waits for it."""
        if isinstance(runtime, SyncRuntime):
            return VirtualSyncRuntime(self)
        return VirtualAioRuntime(self)

    def complain(self, until: float) -> None:
        """Say that somebody waits for a time that does not come by itself."""
        how_long = "for ever" if until == inf else f"for {readable(max(0.0, until - self._now))}"
        logger.warning(
            "a thread or task waits %s on a virtual clock that stands still: the test has to"
            " advance() it, or await clock.run(...) what waits",
            how_long,
        )

    def __repr__(self) -> str:
        return f"<VirtualClock after {readable(self.elapsed)}>"

    def _pass_until(self, alarm: Alarm, until: float) -> None:
        """Wait as the test itself: time passes, because nobody else would let it."""
        with self._moving():
            while not alarm.take() and self._now < until:
                if self._step(until) or alarm.rung:
                    continue
                if until < inf:
                    self._now = max(self._now, until)
                else:
                    self._stand_still(alarm, until)
                    return

    def _stand_still(self, alarm: Alarm, until: float) -> None:
        """Wait until somebody else moves the clock, or rings."""
        began_at = self._now
        self.rest.enter()
        if not self.rest.lie_down(alarm, until, STUCK):
            if began_at == self._now:
                self.complain(until)
            self.rest.lie_down(alarm, until)

    def _step(self, until: float) -> bool:
        """Let everybody come to rest, then go to the next due moment, if there is one by then."""
        with self._turn:
            self._settle()
            return self._jump(until)

    def _jump(self, until: float) -> bool:
        at = min(self.rest.soonest(), self.tasks.soonest())
        if at > until or at == inf:
            return False
        self._now = max(self._now, at)
        self.rest.ring_due(self._now)
        self.tasks.hurry_due(self._now)
        return True

    def _settle(self) -> None:
        """Wait until every thread is at rest, and every loop that runs in another thread."""
        stirred = -1
        while stirred != (stirred := self._awakenings()):
            self.rest.wait()
            for loop in self.tasks.elsewhere():
                let_rest(loop)

    async def _settle_async(self) -> None:
        """Do the same for the loop that runs here; keepers never wait for it."""
        stirred = -1
        while stirred != (stirred := self._awakenings()):
            self.rest.wait()
            await come_to_rest()

    def _awakenings(self) -> int:
        return self.rest.awakenings + self.tasks.awakenings

    async def _move_on(self) -> None:
        while True:
            await self._settle_async()
            if not self._jump(inf):
                await asyncio.sleep(GLANCE)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        self.rest.moving(begins=True)
        try:
            yield
        finally:
            self.rest.moving(begins=False)
