"""Work that is done once per key, whoever asks and however often: ``Once`` and its async twin.

A once object is a description, not a state: it may be shared by any number of threads or tasks.
Inside of its ``with`` each of them has an ``OnceRun`` of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from holdfast.api.body import awaited, called
from holdfast.api.entries import Entries
from holdfast.api.once_run import AsyncOnceRun, OnceRun, Terms
from holdfast.flows.content import digest
from holdfast.flows.once import NO_PAYLOAD, Plan, forget
from holdfast.flows.order import Order
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import OnLoss, apart

P = ParamSpec("P")
T = TypeVar("T")


class _OnceFace:
    """What both twins have: a key, its terms, and how it is filled in for a decorated function."""

    __slots__ = ("_entries", "_payload", "_terms")

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        keep: int | None,
        payload: object,
        on_loss: OnLoss,
        *,
        store_errors: bool,
    ) -> None:
        self._payload = payload
        self._entries: Entries[Any] = Entries()
        key = order.name
        plan = Plan(key, self._digest(key), keep)
        claimed = order.with_name(apart("once", key))
        self._terms = Terms(client, engine, claimed, plan, on_loss, store_errors=store_errors)

    @property
    def key(self) -> str:
        """What the work is known by."""
        return self._terms.plan.key

    def _digest(self, key: str) -> bytes:
        return NO_PAYLOAD if self._payload is None else digest(key, self._payload)

    def _filled(self, key: str) -> Terms:
        terms = self._terms
        plan = terms.plan._replace(key=key, digest=self._digest(key))
        order = terms.order.with_name(apart("once", key))
        return Terms(
            terms.client,
            terms.engine,
            order,
            plan,
            terms.on_loss,
            store_errors=terms.store_errors,
        )

    def _owner(self) -> object:
        return self._terms.engine.session.runtime.owner()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r} on {self._terms.engine.session.backend}>"


class Once(_OnceFace):
    """Idempotency, for threads: the first caller works, everybody gets its result.

    ``run(fn)``, a ``with`` (see ``OnceRun``), or a decorator with ``{argument}`` in the key.
    """

    __slots__ = ()

    def run(self, fn: Callable[[], T]) -> T:
        """Give the result; ``fn`` is called only if there is none.

        What ``fn`` raises comes out here and is not stored (unless ``store_errors``): then one of
        those who wait does the work. ``LockBusy`` when ``wait`` is over, ``LockLost`` if the lease
        was lost during the work, ``Conflict`` if the key was used with another payload.
        """
        return _run(self._terms, fn)

    def forget(self) -> bool:
        """Drop what is stored, so that the work can be done again; say if there was anything."""
        return run(forget(self._terms.engine.session, self.key))

    def __enter__(self) -> OnceRun:
        entry = OnceRun(self._terms).__enter__()
        self._entries.push(self._owner(), entry)
        return entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entry = self._entries.pop(self._owner(), self._terms.plan.called)
        entry.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Let calls with the same key share one result."""
        from holdfast.api.template import Template

        template = Template(self.key, function, wants_async=False)

        @wraps(function)
        def once(*args: P.args, **kwargs: P.kwargs) -> T:
            terms = self._filled(template.fill(args, kwargs))
            return _run(terms, lambda: function(*args, **kwargs))

        return once


class AsyncOnce(_OnceFace):
    """Idempotency, for tasks: the twin of ``Once``."""

    __slots__ = ()

    async def run(self, fn: Callable[[], Awaitable[T]]) -> T:
        """Give the result; ``fn`` is called only if there is none. See ``Once.run``."""
        return await _run_async(self._terms, fn)

    async def forget(self) -> bool:
        """Drop what is stored, so that the work can be done again; say if there was anything."""
        return await forget(self._terms.engine.session, self.key)

    async def __aenter__(self) -> AsyncOnceRun:
        entry = await AsyncOnceRun(self._terms).__aenter__()
        self._entries.push(self._owner(), entry)
        return entry

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entry = self._entries.pop(self._owner(), self._terms.plan.called)
        await entry.__aexit__(kind, error, traceback)

    def __call__(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Let calls with the same key share one result."""
        from holdfast.api.template import Template

        template = Template(self.key, function, wants_async=True)

        @wraps(function)
        async def once(*args: P.args, **kwargs: P.kwargs) -> T:
            terms = self._filled(template.fill(args, kwargs))
            return await _run_async(terms, lambda: function(*args, **kwargs))

        return once


def _run(terms: Terms, fn: Callable[[], T]) -> T:
    with OnceRun(terms) as visit:
        if not visit.done:
            visit.store(called(fn))  # type: ignore[arg-type]  # what cannot be stored is refused in words
    result: T = visit.result
    return result


async def _run_async(terms: Terms, fn: Callable[[], Awaitable[T]]) -> T:
    async with AsyncOnceRun(terms) as visit:
        if not visit.done:
            await visit.store(await awaited(fn))  # type: ignore[arg-type]
    result: T = visit.result
    return result
