"""Who carries out what a party does: one thread, or one task, that lives as long as the party.

So whatever looks at the asking thread or task (reentrancy, self-deadlock, cancellation) sees the
same one throughout. Work is handed in from the test's event loop and awaited there.
"""
# ruff: noqa: S101 - for tests

from __future__ import annotations

import asyncio
import ctypes
import inspect
import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

Work = Callable[[], Any]


class Interrupted(BaseException):
    """What comes out of work that was interrupted: a cancellation in async, a Ctrl-C in sync."""


class Pending(Generic[T]):
    """Something that a party has begun; await it for the result."""

    def __init__(self, future: asyncio.Future[T], interrupt: Callable[[], None]) -> None:
        self.future = future
        self._interrupt = interrupt

    def __await__(self) -> Generator[Any, None, T]:
        return self.future.__await__()

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.future.done()

    def interrupt(self) -> None:
        """Interrupt it where it is now: cancel the task, or throw into the thread."""
        self._interrupt()


class Crank(Protocol):
    """One thread or one task."""

    def start(self, work: Work) -> Pending[Any]:
        """Hand in work; it is done after what was handed in before."""
        ...

    async def stop(self) -> None:
        """End the thread or task; fail if something has ended it before."""
        ...


class ThreadCrank:
    """One thread; work is a plain call."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._turn, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Work) -> Pending[Any]:
        """Hand in work."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._jobs.put((work, future))
        return Pending(future, self._throw)

    async def stop(self) -> None:
        """End the thread."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, 10)
        assert not self._thread.is_alive(), f"{self._thread.name} is still at work"

    def _turn(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, future = job
            result: object = None
            error: BaseException | None = None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001 - it belongs to whoever awaits the work
                error = raised
            self._loop.call_soon_threadsafe(_settle, future, result, error)
            # A result that lingered here could not be collected: some tests drop a lease.
            del job, work, future, result, error

    def _throw(self) -> None:
        thread = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Interrupted))


class TaskCrank:
    """One task; work may be a coroutine function or a plain call."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: asyncio.Queue[tuple[Work, asyncio.Future[Any]] | None] = asyncio.Queue()
        self._task = self._loop.create_task(self._turn(), name=name)
        self._task.add_done_callback(self._excuse)

    def start(self, work: Work) -> Pending[Any]:
        """Hand in work."""
        assert not self._task.done(), f"the task of {self._task.get_name()} has ended"
        future: asyncio.Future[Any] = self._loop.create_future()
        self._jobs.put_nowait((work, future))
        return Pending(future, self._cancel)

    async def stop(self) -> None:
        """End the task."""
        self._jobs.put_nowait(None)
        await asyncio.wait([self._task], timeout=10)
        name = self._task.get_name()
        assert self._task.done(), f"{name} is still at work"
        assert not self._task.cancelled(), f"a stray cancellation has hit {name}"
        assert self._task.cancelling() == 0, f"{name} is left in a state of being cancelled"

    async def _turn(self) -> None:
        while (job := await self._jobs.get()) is not None:
            work, future = job
            result: object = None
            error: BaseException | None = None
            try:
                result = work()
                if inspect.isawaitable(result):
                    result = await result
            except asyncio.CancelledError:
                self._task.uncancel()
                error = Interrupted()
            except BaseException as raised:  # noqa: BLE001 - it belongs to whoever awaits the work
                error = raised
            _settle(future, result, error)
            del job, work, future, result, error

    def _excuse(self, _task: object) -> None:
        """Tell those who wait for work that is not going to be done: the task was hit."""
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            if job is not None:
                _settle(job[1], None, AssertionError("a stray cancellation has hit this party"))

    def _cancel(self) -> None:
        self._task.cancel()


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
        future.exception()  # seen: a test need not await what it does not care for
