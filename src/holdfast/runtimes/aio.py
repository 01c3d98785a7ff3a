"""The runtime of tasks: flows suspend on the running event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from holdfast import clock
from holdfast.ports import Bell, Push

T = TypeVar("T")


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopBell:
    """A bell on a future: rung from any thread, heard on the loop it was made on."""

    __slots__ = ("_future", "_loop", "_rung")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] | None = None
        self._rung = False

    def ring(self) -> None:
        """Wake the waiting task; a loop that is closed has nobody left to wake."""
        self._rung = True
        if _running_loop() is self._loop:  # rung by the loop's own wire: no need to wake it
            self._hear()
            return
        if self._loop.is_closed():
            return
        try:
            self._loop.call_soon_threadsafe(self._hear)
        except RuntimeError:  # closed between the look and the call
            return

    async def wait(self, until: float) -> None:
        """Suspend until rung, or until ``until``."""
        if self._rung:
            return
        self._future = self._loop.create_future()
        delay = min(max(0.0, until - clock.now()), 3600.0)
        timer = self._loop.call_later(delay, self._hear)
        try:
            await self._future
        finally:
            timer.cancel()
            self._future = None

    def _hear(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


def _nowhere(callback: Callable[[], object]) -> None:
    raise RuntimeError(f"no loop has run yet that could call {callback!r}")


class AioRuntime:
    """Time and waiting for tasks. The owner is the task: a child task is another owner."""

    now = staticmethod(clock.now)
    owner = staticmethod(asyncio.current_task)

    def __init__(self) -> None:
        self._finishing: set[asyncio.Task[Any]] = set()
        self._push: tuple[asyncio.AbstractEventLoop | None, Push] = (None, _nowhere)

    def dice(self) -> float:
        """Throw the dice."""
        return int.from_bytes(os.urandom(4)) / (1 << 32)

    def bell(self) -> Bell:
        """Make a bell for this task."""
        return LoopBell()

    def push(self, owner: object) -> Push:
        """Call back on the loop that is running now: a task knows its own."""
        loop = owner.get_loop() if isinstance(owner, asyncio.Task) else asyncio.get_running_loop()
        made_for, known = self._push
        if made_for is loop:
            return known

        def on_loop(callback: Callable[[], object]) -> None:
            try:
                loop.call_soon_threadsafe(callback)
            except RuntimeError:  # the loop is closed: nobody is left to be told
                return

        self._push = (loop, on_loop)
        return on_loop

    async def sleep(self, seconds: float) -> None:
        """Suspend."""
        await asyncio.sleep(seconds)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` as a task of its own, so that cancelling the caller does not cut it short.

        The cancellation is delivered when the work is done. When the loop itself is being torn
        down the task is cancelled too; the flows then leave what is undone to the keeper's thread.
        """
        task = asyncio.ensure_future(work)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                if task.cancelled():
                    break
                cancelled = error
            except BaseException:  # noqa: BLE001 - the task's own outcome, raised just below
                break
        if cancelled is not None and not task.cancelled():
            task.exception()  # retrieved: the cancellation is what the caller is told
            raise cancelled
        return task.result()
