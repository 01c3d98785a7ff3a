"""Going in and coming out: what a ``with`` and a decorator do, for everything that can be held.

A door object is a description, not a state: every entry has a lease of its own, by thread or task,
so one object may be shared and used by many at once. What is behind the door (one name, a permit,
several names) is the business of those who inherit from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cache, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

from holdfast.errors import Misuse
from holdfast.flows.order import Order
from holdfast.runtimes.engine import Engine
from holdfast.values import OnLoss

if TYPE_CHECKING:
    from typing import Protocol

    from holdfast.errors import LockLost
    from holdfast.runtimes.stop import TaskStop, ThreadStop

    class _Held(Protocol):
        """What both twins of a lease, or of a set of them, have."""

        _claimant: object  # the thread or task that acquired it

        def _lost_error(self) -> LockLost: ...

        def _complain(self) -> None: ...

        def _goes_in(self) -> None: ...

        def _comes_out(self) -> bool: ...

        def on_lost(self, callback: Callable[[], object]) -> None: ...

    class _HeldByThread(_Held, Protocol):
        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
        ) -> None: ...

    class _HeldByTask(_Held, Protocol):
        def _let_go(self) -> Awaitable[object]: ...


P = ParamSpec("P")
T = TypeVar("T")

PerCall = Callable[[tuple[Any, ...], Mapping[str, Any]], T]
"""Gives the door for one call of a decorated function, from its arguments."""


L = TypeVar("L", bound="_HeldByThread")
A = TypeVar("A", bound="_HeldByTask")


# Only those who stop a body need ctypes and asyncio, and they need them at every entry.


@cache
def _thread_stop() -> type[ThreadStop]:
    from holdfast.runtimes.stop import ThreadStop

    return ThreadStop


@cache
def _task_stop() -> type[TaskStop]:
    from holdfast.runtimes.stop import TaskStop

    return TaskStop


class DoorFace:
    """What both twins have: who they are for, on which terms, and who is inside."""

    __slots__ = ("_client", "_engine", "_entered", "_on_loss", "_order")

    def __init__(self, client: object, engine: Engine, order: Order, on_loss: OnLoss) -> None:
        self._client = client  # kept alive as long as its locks are
        self._engine = engine
        self._order = order
        self._on_loss: OnLoss = on_loss
        self._entered: dict[object, list[Any]] = {}

    def _plate(self) -> str:
        """Say in an error what is behind this door."""
        raise NotImplementedError

    def _per_call(self, function: Callable[..., Any], *, wants_async: bool) -> PerCall[Self]:
        """Read the names once as templates, for a decorator on ``function``."""
        raise NotImplementedError

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
                f"{self._plate()} is left by a thread or task that has not entered it; use"
                " acquire() and give the lease to whoever releases it"
            )
        entry = entries.pop()
        if not entries:
            del entered[owner]
        return entry

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._plate()} on {self._engine.session.backend}>"


class Door(DoorFace, Generic[L]):
    """In and out for threads."""

    __slots__ = ()

    def _taken(self, order: Order) -> L:
        """Acquire on these terms."""
        raise NotImplementedError

    def __enter__(self) -> L:
        lease = self._taken(self._order)
        stop: ThreadStop | None = None
        if self._on_loss == "stop":
            stop = _thread_stop()(lease._lost_error)  # noqa: SLF001 - the lease is ours
            lease.on_lost(stop.fire)
        lease._goes_in()  # noqa: SLF001 - the lease is ours
        self._push(lease._claimant, (lease, stop))  # noqa: SLF001
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
            if lease._comes_out():  # noqa: SLF001 - the lease is ours
                lease.__exit__(kind, error, traceback)
            elif error is None:
                lease._complain()  # noqa: SLF001

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Run ``function`` under the lock; ``{argument}`` in the name stands for its arguments."""
        door_for = self._per_call(function, wants_async=False)

        @wraps(function)
        def under_lock(*args: P.args, **kwargs: P.kwargs) -> T:
            with door_for(args, kwargs):
                return function(*args, **kwargs)

        return under_lock


class AsyncDoor(DoorFace, Generic[A]):
    """In and out for tasks: the twin of ``Door``."""

    __slots__ = ()

    def _pop(self) -> Any:
        if len(self._entered) != 1:
            return super()._pop()
        ((owner, entries),) = self._entered.items()  # whoever asks; between tasks nobody comes
        entry = entries.pop()
        if not entries:
            del self._entered[owner]
        return entry

    # In two halves and no coroutine around them: every task that goes in would pay for it twice.

    def _asked(self, order: Order) -> Awaitable[Any]:
        """Acquire on these terms; what comes of it is for ``_given``."""
        raise NotImplementedError

    def _given(self, acquired: Any) -> A:
        """Make the lease of what was acquired."""
        raise NotImplementedError

    async def __aenter__(self) -> A:
        lease = self._given(await self._asked(self._order))
        stop: TaskStop | None = None
        if self._on_loss == "stop":
            stop = _task_stop()(lease._claimant)  # noqa: SLF001 - the lease is ours
            lease.on_lost(stop.fire)
        lease._goes_in()  # noqa: SLF001 - the lease is ours
        self._push(lease._claimant, (lease, stop))  # noqa: SLF001
        return lease

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lease, stop = self._pop()
        stopped = stop is not None and stop.disarm(error)
        if lease._comes_out():  # noqa: SLF001 - the lease is ours
            await lease._let_go()  # noqa: SLF001
        if stopped:
            raise lease._lost_error() from None  # noqa: SLF001
        if error is None:
            lease._complain()  # noqa: SLF001

    def __call__(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Run the coroutine function under the lock; ``{argument}`` stands for its arguments."""
        door_for = self._per_call(function, wants_async=True)

        @wraps(function)
        async def under_lock(*args: P.args, **kwargs: P.kwargs) -> T:
            async with door_for(args, kwargs):
                return await function(*args, **kwargs)

        return under_lock
