"""The door: one client per program and backend, sync or async, the same names in both."""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Self, TypeVar

from holdfast.api.checks import (
    UNSET,
    Given,
    checked_beginning,
    checked_label,
    checked_name,
    checked_reason,
)
from holdfast.api.lock import AsyncLock, Lock
from holdfast.api.orders import Orders
from holdfast.backends.registry import open_backend
from holdfast.durations import Duration, positive
from holdfast.errors import LockBusy
from holdfast.flows.inspect import break_lock, locks, show
from holdfast.flows.release import release_all
from holdfast.observe.events import Observer
from holdfast.observe.hub import Hub
from holdfast.ports import Runtime
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.runtimes.sync import SyncRuntime
from holdfast.settings import address
from holdfast.values import Capabilities, Holder, Json, LockInfo, OnLoss, Outcome, Tenure

T = TypeVar("T")


class _ClientFace:
    """What both twins have in common: who they are, and what stands behind them."""

    def __init__(
        self,
        url: object,
        runtime: Runtime | None,
        *,
        ttl: Duration,
        wait: Duration | None,
        call_limit: Duration,
        holder: str | None,
        prefix: str,
        observers: Iterable[Observer],
    ) -> None:
        where = address(url)
        backend = open_backend(where, checked_name(prefix, "prefix"))
        self._address = where._replace(client=None)  # theirs is not kept alive by ours
        self._orders = Orders(backend.capabilities, ttl, wait)
        self._engine = Engine(
            backend,
            runtime or SyncRuntime(),
            backend.aio_wire if runtime else backend.sync_wire,
            label=checked_label(holder),
            call_limit=positive(call_limit, "call_limit"),
            hub=Hub(observers),
            command=self._address.command,
        )
        # When a client is collected its leases were too: tidy up without waiting for anything.
        finalizer = weakref.finalize(self, self._engine.abandon)
        finalizer.atexit = False  # at exit the engine itself gives back what is held, and waits

    @property
    def holder(self) -> Holder:
        """Who this client is, as others see it."""
        return self._engine.holder

    @property
    def capabilities(self) -> Capabilities:
        """What the backend can do, and in words what it cannot."""
        return self._engine.backend.capabilities

    def lifeline(self) -> int | None:
        """Give the descriptor whose closing tells others that this client is dead, if there is one.

        A child process that works under this client's lease should inherit it (through ``os.dup``).
        """
        return self._engine.keeper.lifeline()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._address.shown} as {self.holder}>"


class Client(_ClientFace):
    """Locks for threads and processes. A context manager; closing it releases what it holds."""

    def __init__(
        self,
        url: object = None,
        *,
        ttl: Duration = 10,
        wait: Duration | None = None,
        call_limit: Duration = 5,
        holder: str | None = None,
        prefix: str = "holdfast",
        observers: Iterable[Observer] = (),
    ) -> None:
        """Open the backend at ``url``, at ``$HOLDFAST_URL``, or the embedded default.

        Instead of a URL you may give a client of redis-py or valkey-py: its settings are read, its
        connections are left alone.
        ``ttl`` and ``wait`` are the defaults of every lock; ``call_limit`` bounds one exchange with
        the backend; ``holder`` is a label that others see.
        """
        super().__init__(
            url,
            None,
            ttl=ttl,
            wait=wait,
            call_limit=call_limit,
            holder=holder,
            prefix=prefix,
            observers=observers,
        )

    def lock(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> Lock:
        """Describe a lock on ``name``: use it in a ``with``, as a decorator, or ``acquire`` it."""
        order = self._orders.exclusive(
            name,
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return Lock(self, self._engine, order, self._orders.on_loss(on_loss))

    def with_lock(
        self,
        name: str,
        fn: Callable[[], T],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> T:
        """Run ``fn`` under the lock and give what it returns."""
        with self.lock(
            name,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        ):
            return fn()

    def try_with_lock(
        self,
        name: str,
        fn: Callable[[], T],
        *,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> Outcome[T]:
        """Run ``fn`` under the lock if it is free; otherwise skip it, without an error."""
        lock = self.lock(
            name,
            ttl=ttl,
            wait=0,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        )
        entered = False
        try:
            with lock:
                entered = True
                return Outcome(executed=True, result=fn())
        except LockBusy:
            if entered:  # it is the function's own
                raise
            return Outcome(executed=False)

    def release_all(self) -> None:
        """Give back everything that this client holds."""
        run(release_all(self._engine.session))

    def locks(self, prefix: str = "") -> list[LockInfo]:
        """List the names in use that start with ``prefix``: who holds them, who waits."""
        return run(locks(self._engine.session, checked_beginning(prefix)))

    def show(self, name: str) -> LockInfo:
        """Show one name: who holds it, since when, who waits."""
        return run(show(self._engine.session, checked_name(name)))

    def break_lock(self, name: str, *, token: int, reason: str = "", force: bool = False) -> Tenure:
        """Take the grant with this token away from its holder, and give what was broken.

        The holder is told, cannot renew, and the name passes on when it lets go or its lease ends;
        with ``force`` at once, although it may still be at work. ``Conflict`` if it moved on.
        """
        said = checked_reason(reason)
        flow = break_lock(self._engine.session, checked_name(name), token, said, force=force)
        return run(flow)

    def close(self) -> None:
        """Release what this client holds and close its connections; harmless when repeated."""
        run(self._engine.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(_ClientFace):
    """Locks for tasks: the twin of ``Client``, with coroutines where something is asked."""

    def __init__(
        self,
        url: object = None,
        *,
        ttl: Duration = 10,
        wait: Duration | None = None,
        call_limit: Duration = 5,
        holder: str | None = None,
        prefix: str = "holdfast",
        observers: Iterable[Observer] = (),
    ) -> None:
        """Open the backend at ``url``, at ``$HOLDFAST_URL``, or the embedded default.

        Instead of a URL you may give a client of redis-py or valkey-py: its settings are read, its
        connections are left alone.
        ``ttl`` and ``wait`` are the defaults of every lock; ``call_limit`` bounds one exchange with
        the backend; ``holder`` is a label that others see.
        """
        from holdfast.runtimes.aio import AioRuntime

        super().__init__(
            url,
            AioRuntime(),
            ttl=ttl,
            wait=wait,
            call_limit=call_limit,
            holder=holder,
            prefix=prefix,
            observers=observers,
        )

    def lock(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncLock:
        """Describe a lock on ``name``: use it in a ``with``, as a decorator, or ``acquire`` it."""
        order = self._orders.exclusive(
            name,
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return AsyncLock(self, self._engine, order, self._orders.on_loss(on_loss))

    async def with_lock(
        self,
        name: str,
        fn: Callable[[], Awaitable[T]],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> T:
        """Run ``fn`` under the lock and give what it returns."""
        async with self.lock(
            name,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        ):
            return await fn()

    async def try_with_lock(
        self,
        name: str,
        fn: Callable[[], Awaitable[T]],
        *,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> Outcome[T]:
        """Run ``fn`` under the lock if it is free; otherwise skip it, without an error."""
        lock = self.lock(
            name,
            ttl=ttl,
            wait=0,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        )
        entered = False
        try:
            async with lock:
                entered = True
                return Outcome(executed=True, result=await fn())
        except LockBusy:
            if entered:  # it is the function's own
                raise
            return Outcome(executed=False)

    async def release_all(self) -> None:
        """Give back everything that this client holds."""
        await release_all(self._engine.session)

    async def locks(self, prefix: str = "") -> list[LockInfo]:
        """List the names in use that start with ``prefix``: who holds them, who waits."""
        return await locks(self._engine.session, checked_beginning(prefix))

    async def show(self, name: str) -> LockInfo:
        """Show one name: who holds it, since when, who waits."""
        return await show(self._engine.session, checked_name(name))

    async def break_lock(
        self, name: str, *, token: int, reason: str = "", force: bool = False
    ) -> Tenure:
        """Take the grant with this token away from its holder, and give what was broken.

        The holder is told, cannot renew, and the name passes on when it lets go or its lease ends;
        with ``force`` at once, although it may still be at work. ``Conflict`` if it moved on.
        """
        said = checked_reason(reason)
        flow = break_lock(self._engine.session, checked_name(name), token, said, force=force)
        return await flow

    async def close(self) -> None:
        """Release what this client holds and close its connections; harmless when repeated."""
        await self._engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
