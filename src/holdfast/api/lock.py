"""One holder at a time: ``Lock`` for threads, ``AsyncLock`` for tasks, both usable as decorators.

A lock object is a description, not a state: every entry has a lease of its own, by thread or task,
so one object may be shared and used by many at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from holdfast.api.checks import UNSET, Given, Unset, checked_wait
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.place import caller
from holdfast.errors import LockBusy, Misuse
from holdfast.flows.acquire import acquire
from holdfast.flows.book import LeaseState
from holdfast.flows.inspect import show
from holdfast.flows.lose import lost_error
from holdfast.flows.order import Order
from holdfast.flows.release import release
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import LockInfo, OnLoss

if TYPE_CHECKING:
    from holdfast.runtimes.stop import TaskStop, ThreadStop

P = ParamSpec("P")
T = TypeVar("T")


class _LockFace:
    """What both twins have: an order, and who it is placed for."""

    __slots__ = ("_client", "_engine", "_entered", "_on_loss", "_order")

    def __init__(self, client: object, engine: Engine, order: Order, on_loss: OnLoss) -> None:
        self._client = client  # kept alive as long as its locks are
        self._engine = engine
        self._order = order
        self._on_loss: OnLoss = on_loss
        self._entered: dict[object, list[Any]] = {}

    @property
    def name(self) -> str:
        """What is locked."""
        return self._order.name

    def _ordered(self, wait: Given | None) -> Order:
        if isinstance(wait, Unset):
            return self._order
        return self._order.with_wait(checked_wait(wait))

    def _push(self, owner: object, entry: object) -> None:
        entries = self._entered.get(owner)
        if entries is None:
            self._entered[owner] = [entry]
        else:
            entries.append(entry)

    def _pop(self) -> Any:
        entered = self._entered
        owner = self._engine.session.runtime.owner()
        if owner not in entered and len(entered) == 1:
            (owner,) = entered  # entered here and left there, as some frameworks do
        entries = entered.get(owner)
        if not entries:
            raise Misuse(
                f"{self.name!r} is left by a thread or task that has not entered it; use acquire()"
                " and give the lease to whoever releases it"
            )
        entry = entries.pop()
        if not entries:
            del entered[owner]
        return entry

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} on {self._engine.session.backend}>"


class Lock(_LockFace):
    """An exclusive lock on a name, for threads.

    ``with lock as lease`` waits for the lock, keeps it renewed and releases it even on error. The
    body never runs without the lock; what a pause after a check can spoil is caught by the token.
    """

    __slots__ = ()

    def acquire(self, wait: Given | None = UNSET) -> Lease:
        """Hold the name, or raise ``LockBusy`` when ``wait`` is over."""
        try:
            state = run(acquire(self._engine.session, self._ordered(wait), caller()))
            if state.count > 1 and isinstance(face := state.face and state.face(), Lease):
                return face
            return Lease(self._client, self._engine, state, self._on_loss)
        except BaseException:
            self._engine.drop_orphan(self._order.name)  # a Ctrl-C between the grant and the lease
            raise

    def try_acquire(self) -> Lease | None:
        """Hold the name if nobody else does; ``None`` if somebody does."""
        try:
            return self.acquire(wait=0)
        except LockBusy:
            return None

    def locked(self) -> bool:
        """Whether anybody holds the name."""
        return self.inspect().held

    def inspect(self) -> LockInfo:
        """Show who holds the name and who waits for it."""
        return run(show(self._engine.session, self.name))

    def __enter__(self) -> Lease:
        lease = self.acquire()
        state = lease._state  # noqa: SLF001 - the lease is ours
        stop: ThreadStop | None = None
        if self._on_loss == "stop":
            from holdfast.runtimes.stop import ThreadStop

            stop = ThreadStop(self._engine.session, state)
            lease.on_lost(stop.fire)
        self._push(state.owner, (lease, stop))
        return lease

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lease, stop = self._pop()
        try:
            if stop is not None:
                stop.disarm()
        finally:
            lease.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Run ``function`` under the lock; ``{argument}`` in the name stands for its arguments."""
        from holdfast.api.template import Template  # inspect is for decorators only

        template = Template(self.name, function, wants_async=False)

        @wraps(function)
        def under_lock(*args: P.args, **kwargs: P.kwargs) -> T:
            order = self._order.with_name(template.fill(args, kwargs))
            with Lock(self._client, self._engine, order, self._on_loss):
                return function(*args, **kwargs)

        return under_lock


class AsyncLock(_LockFace):
    """An exclusive lock on a name, for tasks: the twin of ``Lock``.

    When the lease is lost the body is cancelled, and ``LockLost`` comes out of the ``async with``.
    """

    __slots__ = ()

    async def acquire(self, wait: Given | None = UNSET) -> AsyncLease:
        """Hold the name, or raise ``LockBusy`` when ``wait`` is over."""
        return self._lease_of(await acquire(self._engine.session, self._ordered(wait), caller()))

    def _lease_of(self, state: LeaseState) -> AsyncLease:
        if state.count > 1 and isinstance(face := state.face and state.face(), AsyncLease):
            return face
        return AsyncLease(self._client, self._engine, state, self._on_loss)

    async def try_acquire(self) -> AsyncLease | None:
        """Hold the name if nobody else does; ``None`` if somebody does."""
        try:
            return await self.acquire(wait=0)
        except LockBusy:
            return None

    async def locked(self) -> bool:
        """Whether anybody holds the name."""
        return (await self.inspect()).held

    async def inspect(self) -> LockInfo:
        """Show who holds the name and who waits for it."""
        return await show(self._engine.session, self.name)

    async def __aenter__(self) -> AsyncLease:
        state = await acquire(self._engine.session, self._order, caller())
        lease = self._lease_of(state)
        stop: TaskStop | None = None
        if self._on_loss == "stop":
            from holdfast.runtimes.stop import TaskStop

            stop = TaskStop(state.owner)
            lease.on_lost(stop.fire)
        self._push(state.owner, (lease, stop))
        return lease

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lease, stop = self._pop()
        stopped = stop is not None and stop.disarm(error)
        await release(self._engine.session, lease._state)  # noqa: SLF001 - the lease is ours
        if stopped:
            raise lost_error(self._engine.session, lease._state) from None  # noqa: SLF001
        if error is None:
            lease._complain()  # noqa: SLF001

    def __call__(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Run the coroutine function under the lock; ``{argument}`` stands for its arguments."""
        from holdfast.api.template import Template

        template = Template(self.name, function, wants_async=True)

        @wraps(function)
        async def under_lock(*args: P.args, **kwargs: P.kwargs) -> T:
            order = self._order.with_name(template.fill(args, kwargs))
            async with AsyncLock(self._client, self._engine, order, self._on_loss):
                return await function(*args, **kwargs)

        return under_lock
