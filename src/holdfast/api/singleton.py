"""One run at a time across all copies; with ``per``, one completed run per slot: ``Singleton``.

For any scheduler: cron on three hosts, a loop with a sleep, APScheduler, Celery beat. Whoever is
too late does not fail but skips, and an ``Outcome`` says so. The async twin is beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Generic, Literal, ParamSpec, Self, TypeAlias, TypeVar

from holdfast.api.body import awaited, called
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lock import AsyncLock, Lock
from holdfast.errors import LockBusy
from holdfast.flows.order import Order
from holdfast.flows.singleton import Opened, Slots, close_slot, glance, open_slot
from holdfast.observe import events
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import OnLoss, Outcome, Tenure, apart

P = ParamSpec("P")
T = TypeVar("T")
LeaseT = TypeVar("LeaseT", Lease, AsyncLease)
LockT = TypeVar("LockT", Lock, AsyncLock)

OnBusy: TypeAlias = Literal["skip", "wait", "raise"]
"""What to do when another copy is at work."""


class _TurnFace(Generic[LockT, LeaseT]):
    """What both twins of a turn have."""

    __slots__ = ("_engine", "_lease", "_lock", "_opened", "_slots")

    def __init__(
        self,
        engine: Engine,
        lock: LockT,
        lease: LeaseT,
        slots: Slots | None,
        opened: Opened | None,
    ) -> None:
        self._engine = engine
        self._lock: LockT = lock
        self._lease: LeaseT = lease
        self._slots = slots
        self._opened = opened

    @property
    def lease(self) -> LeaseT:
        """The lease under which this copy runs."""
        return self._lease

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._lease.name!r}>"


class Turn(_TurnFace[Lock, Lease]):
    """The right of this copy to run now, for threads. A context manager that gives it back."""

    __slots__ = ()

    def complete(self) -> None:
        """Say that the run is complete: no copy runs again in this slot."""
        if self._slots is not None and self._opened is not None:
            run(close_slot(self._engine.session, self._slots, self._opened, self._lease))
            self._opened = None
            self._lease._on_loss = "flag"  # noqa: SLF001 - it is done: a loss spoils nothing now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.__exit__(kind, error, traceback)


class AsyncTurn(_TurnFace[AsyncLock, AsyncLease]):
    """The right of this copy to run now, for tasks: the twin of ``Turn``."""

    __slots__ = ()

    async def complete(self) -> None:
        """Say that the run is complete: no copy runs again in this slot."""
        if self._slots is not None and self._opened is not None:
            await close_slot(self._engine.session, self._slots, self._opened, self._lease)
            self._opened = None
            self._lease._on_loss = "flag"  # noqa: SLF001 - it is done: a loss spoils nothing now

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._lock.__aexit__(kind, error, traceback)


class _SingletonFace:
    """What both twins have: an order, a period, and what to do when another copy is at work."""

    __slots__ = ("_client", "_engine", "_name", "_on_busy", "_on_loss", "_order", "_per")

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        per: int | None,
        on_busy: OnBusy,
        on_loss: OnLoss,
    ) -> None:
        self._client = client  # kept alive as long as its singletons are
        self._engine = engine
        self._name = order.name
        self._order = order.with_name(apart("singleton", order.name))
        self._per = per
        self._on_busy: OnBusy = on_busy
        self._on_loss: OnLoss = on_loss

    @property
    def name(self) -> str:
        """What runs once."""
        return self._name

    def _slots(self) -> Slots | None:
        return None if self._per is None else Slots(self._name, self._per)

    def _skip(self, why: Literal["busy", "done"], holders: tuple[Tenure, ...] = ()) -> None:
        hub = self._engine.hub
        if hub.curious:
            hub.tell(events.Skipped(self._name, why, holders))

    def _filled(self, name: str) -> Self:
        order = self._order.with_name(name)
        return type(self)(
            self._client, self._engine, order, self._per, self._on_busy, self._on_loss
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} on {self._engine.session.backend}>"


class Singleton(_SingletonFace):
    """One run across all copies, for threads: a decorator, ``run(fn)``, or ``turn()``."""

    __slots__ = ()

    def turn(self) -> Turn | None:
        """Take the turn of this copy, or ``None`` if there is none to take.

        For work that is not one function: leave its ``with`` to give the turn back, and call
        ``complete()`` when the work is done, or the slot stays open.
        """
        session, slots = self._engine.session, self._slots()
        seen = run(glance(session, slots)) if slots else None
        if slots and seen is None:
            self._skip("done")
            return None
        lock = Lock(self._client, self._engine, self._order, self._on_loss)
        try:
            lease = lock.__enter__()
        except LockBusy as busy:
            if self._on_busy == "skip":
                self._skip("busy", busy.holders)
                return None
            if not slots or run(glance(session, slots)) is not None:
                raise
            self._skip("done")  # whoever was waited for has closed the slot
            return None
        if slots is None or seen is None:
            return Turn(self._engine, lock, lease, None, None)
        try:
            opened = run(open_slot(session, slots, seen, lease))
        except BaseException:
            lock.__exit__(*sys.exc_info())
            raise
        if opened is not None:
            return Turn(self._engine, lock, lease, slots, opened)
        lease._on_loss = "flag"  # noqa: SLF001 - there is nothing to be spoiled
        lock.__exit__(None, None, None)
        self._skip("done")
        return None

    def run(self, fn: Callable[[], T]) -> Outcome[T]:
        """Run ``fn`` if it is this copy's turn. What it raises comes out, and closes no slot."""
        turn = self.turn()
        if turn is None:
            return Outcome(executed=False)
        with turn:
            result = called(fn)
            turn.complete()
        return Outcome(executed=True, result=result)

    def __call__(self, function: Callable[P, T]) -> Callable[P, Outcome[T]]:
        """Run ``function`` only when it is this copy's turn; ``{argument}`` fills in the name."""
        from holdfast.api.template import Template

        template = Template(self.name, function, wants_async=False)

        @wraps(function)
        def single(*args: P.args, **kwargs: P.kwargs) -> Outcome[T]:
            filled = self._filled(template.fill(args, kwargs))
            return filled.run(lambda: function(*args, **kwargs))

        return single


class AsyncSingleton(_SingletonFace):
    """One run across all copies, for tasks: the twin of ``Singleton``."""

    __slots__ = ()

    async def turn(self) -> AsyncTurn | None:
        """Take the turn of this copy, or ``None`` if there is none to take. See ``Singleton``."""
        session, slots = self._engine.session, self._slots()
        seen = await glance(session, slots) if slots else None
        if slots and seen is None:
            self._skip("done")
            return None
        lock = AsyncLock(self._client, self._engine, self._order, self._on_loss)
        try:
            lease = await lock.__aenter__()
        except LockBusy as busy:
            if self._on_busy == "skip":
                self._skip("busy", busy.holders)
                return None
            if not slots or await glance(session, slots) is not None:
                raise
            self._skip("done")  # whoever was waited for has closed the slot
            return None
        if slots is None or seen is None:
            return AsyncTurn(self._engine, lock, lease, None, None)
        try:
            opened = await open_slot(session, slots, seen, lease)
        except BaseException:
            await lock.__aexit__(*sys.exc_info())
            raise
        if opened is not None:
            return AsyncTurn(self._engine, lock, lease, slots, opened)
        lease._on_loss = "flag"  # noqa: SLF001 - there is nothing to be spoiled
        await lock.__aexit__(None, None, None)
        self._skip("done")
        return None

    async def run(self, fn: Callable[[], Awaitable[T]]) -> Outcome[T]:
        """Run ``fn`` if it is this copy's turn. What it raises comes out, and closes no slot."""
        turn = await self.turn()
        if turn is None:
            return Outcome(executed=False)
        async with turn:
            result = await awaited(fn)
            await turn.complete()
        return Outcome(executed=True, result=result)

    def __call__(
        self, function: Callable[P, Awaitable[T]]
    ) -> Callable[P, Coroutine[Any, Any, Outcome[T]]]:
        """Run ``function`` only when it is this copy's turn; ``{argument}`` fills in the name."""
        from holdfast.api.template import Template

        template = Template(self.name, function, wants_async=True)

        @wraps(function)
        async def single(*args: P.args, **kwargs: P.kwargs) -> Outcome[T]:
            filled = self._filled(template.fill(args, kwargs))
            return await filled.run(lambda: function(*args, **kwargs))

        return single
