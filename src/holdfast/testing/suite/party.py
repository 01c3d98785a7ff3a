"""One client with one owner of its own: what a test lets several of do things to the same names.

Every operation is carried out by the party's own thread or task (``cranks``), so a test reads the
same in both runtimes: ``lease = await alice.acquire("x")``, whatever stands behind ``alice``.
"""
# ruff: noqa: S101 - for tests

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any, TypeAlias, TypeVar

from holdfast import (
    AsyncClient,
    AsyncLease,
    AsyncLock,
    AsyncSemaphore,
    Client,
    Lease,
    Lock,
    LockInfo,
    Semaphore,
    Tenure,
)
from holdfast.api.door import AsyncDoor, Door
from holdfast.testing.suite.cranks import Crank, Pending

T = TypeVar("T")

AnyClient: TypeAlias = Client | AsyncClient
AnyLock: TypeAlias = Lock | AsyncLock | Semaphore | AsyncSemaphore
AnyLease: TypeAlias = Lease | AsyncLease


class Stay:
    """A body that runs under its locks until it is told to leave, or is made to."""

    def __init__(
        self, leases: list[AnyLease], body: Pending[None], door: Callable[[], None]
    ) -> None:
        self.leases = leases
        self.error: Exception | None = None
        self.open_door = door
        self._body = body

    @property
    def lease(self) -> AnyLease:
        """The lease of the first lock."""
        return self.leases[0]

    async def leave(self, error: Exception | None = None) -> None:
        """Let the body end, or raise ``error``; whatever comes out of the ``with`` is raised."""
        self.error = error
        self.open_door()
        await self._body

    async def ended(self, within: float = 10.0) -> None:
        """Wait until the body has ended without being told to, and raise what came out."""
        await asyncio.wait([self._body.future], timeout=within)
        assert self._body.done(), f"the body is still inside after {within:g} s"
        await self._body

    def interrupt(self) -> None:
        """Let somebody else cancel, or interrupt, the body."""
        self._body.interrupt()

    def inside(self) -> bool:
        """Whether the body is still at work."""
        return not self._body.done()


class Party:
    """One owner, at work with one client."""

    def __init__(self, name: str, client: AnyClient, crank: Crank) -> None:
        self.name = name
        self.client = client
        self.crank = crank
        self.kept: list[AnyLease] = []  # a lease that nobody refers to would be collected
        self._doors: list[Callable[[], None]] = []

    def open_doors(self) -> None:
        """Let every body end."""
        for door in self._doors:
            door()

    def begin(self, work: Callable[[], Any]) -> Pending[Any]:
        """Begin anything in this party's own thread or task."""
        return self.crank.start(work)

    async def do(self, work: Callable[[], Any]) -> Any:
        """Do anything in this party's own thread or task."""
        return await self.begin(work)

    async def rest(self) -> None:
        """Come back when neither crank nor loop refers to earlier results any more."""
        await self.do(lambda: None)
        await asyncio.sleep(0)

    def lock(self, name: str, **terms: Any) -> AnyLock:
        """Describe a lock of this party's client."""
        return self.client.lock(name, **terms)

    def begin_acquire(self, name: str, **terms: Any) -> Pending[AnyLease]:
        """Begin to acquire; for what is expected to wait."""
        return self.begin_take(self.lock(name, **terms))

    def begin_take(self, lock: AnyLock, **terms: Any) -> Pending[AnyLease]:
        """Begin to acquire with a lock object that others may use too."""
        return self.begin(lambda: self._kept(lock.acquire(**terms)))

    async def take(self, lock: AnyLock, **terms: Any) -> AnyLease:
        """Acquire with a lock object that others may use too."""
        return await self.begin_take(lock, **terms)

    async def acquire(self, name: str, **terms: Any) -> AnyLease:
        """Acquire."""
        return await self.begin_acquire(name, **terms)

    async def try_acquire(self, name: str, **terms: Any) -> AnyLease | None:
        """Acquire if the name is free."""
        lock = self.lock(name, **terms)
        found: AnyLease | None = await self.begin(lambda: self._kept(lock.try_acquire()))
        return found

    def _kept(self, asked: Any) -> Any:
        if inspect.isawaitable(asked):
            return self._kept_later(asked)
        self.kept.append(asked)
        return asked

    async def _kept_later(self, asked: Awaitable[AnyLease]) -> AnyLease:
        lease = await asked
        self.kept.append(lease)
        return lease

    async def release(self, lease: AnyLease) -> None:
        """Release."""
        await self.do(lease.release)

    async def extend(self, lease: AnyLease, ttl: Any) -> None:
        """Ask for a longer life."""
        await self.do(lambda: lease.extend(ttl))

    def begin_wait_lost(self, lease: AnyLease, wait: float | None = None) -> Pending[bool]:
        """Begin to wait for the loss of a lease."""
        return self.begin(lambda: lease.wait_lost(wait))

    async def enter(self, name: str, **terms: Any) -> Stay:
        """Enter the body of a ``with`` on the lock."""
        return await self.enter_all(self.lock(name, **terms))

    async def enter_all(self, *locks: AnyLock) -> Stay:
        """Enter the body of nested ``with``s, the first lock outermost."""
        stay = await _Visit(self.crank, locks).begin()
        self._doors.append(stay.open_door)
        return stay

    async def show(self, name: str) -> LockInfo:
        """Look at a name."""
        seen: LockInfo = await self.do(lambda: self.client.show(name))
        return seen

    async def locks(self, prefix: str = "") -> list[LockInfo]:
        """List the names in use."""
        seen: list[LockInfo] = await self.do(lambda: self.client.locks(prefix))
        return seen

    async def break_lock(self, name: str, token: int, **terms: Any) -> Tenure:
        """Break a lock."""
        broken: Tenure = await self.do(lambda: self.client.break_lock(name, token=token, **terms))
        return broken

    async def release_all(self) -> None:
        """Release everything."""
        await self.do(self.client.release_all)

    async def close(self) -> None:
        """Close the client."""
        await self.do(self.client.close)


class _Visit:
    """The making of a ``Stay``, in either runtime."""

    def __init__(self, crank: Crank, locks: tuple[AnyLock, ...]) -> None:
        self._crank = crank
        self._locks = locks
        self._loop = asyncio.get_running_loop()
        self._entered: asyncio.Future[list[AnyLease]] = self._loop.create_future()
        self._stay: Stay | None = None
        self._thread_door = threading.Event()
        self._task_door = asyncio.Event()

    async def begin(self) -> Stay:
        sync = all(isinstance(lock, Door) for lock in self._locks)
        body: Pending[None] = self._crank.start(self._in_thread if sync else self._in_task)
        either: list[asyncio.Future[Any]] = [self._entered, body.future]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._entered.done():
            self._entered.cancel()
            await body  # it never got in: this raises why
        door = self._thread_door.set if sync else self._task_door.set
        self._stay = Stay(self._entered.result(), body, door)
        return self._stay

    def _in_thread(self) -> None:
        with ExitStack() as stack:
            leases: list[AnyLease] = [
                stack.enter_context(lock) for lock in self._locks if isinstance(lock, Door)
            ]
            self._loop.call_soon_threadsafe(self._entered.set_result, leases)
            while not self._thread_door.wait(0.01):
                pass  # bytecode, so that an interruption arrives
            self._raise()

    async def _in_task(self) -> None:
        async with AsyncExitStack() as stack:
            leases: list[AnyLease] = [
                await stack.enter_async_context(lock)
                for lock in self._locks
                if isinstance(lock, AsyncDoor)
            ]
            self._entered.set_result(leases)
            await self._task_door.wait()
            self._raise()

    def _raise(self) -> None:
        if self._stay is not None and self._stay.error is not None:
            raise self._stay.error
