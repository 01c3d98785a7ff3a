"""A rate that all copies share: ``Limiter`` for threads, ``AsyncLimiter`` for tasks.

A limiter object is a description, not a state: it may be shared by any number of threads or tasks.
Nothing is held, so nothing has to be given back; a permit is used by having been taken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from holdfast.api.checks import UNSET, Given, Unset, checked_wait
from holdfast.errors import Misuse
from holdfast.flows.limit import Limit, Permit, take, try_take
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run

P = ParamSpec("P")
T = TypeVar("T")


class _LimiterFace:
    """What both twins have: a limit, and how long a caller is willing to wait for it."""

    __slots__ = ("_client", "_engine", "_limit", "_wait")

    def __init__(self, client: object, engine: Engine, limit: Limit, wait: float | None) -> None:
        self._client = client  # kept alive as long as its limiters are
        self._engine = engine
        self._limit = limit
        self._wait = wait

    @property
    def name(self) -> str:
        """Under which name the rate is shared."""
        return self._limit.name

    @property
    def burst(self) -> int:
        """How many permits can be had at once when none were taken for a while."""
        return self._limit.terms.burst

    def _permits(self, n: object) -> int:
        burst = self._limit.terms.burst
        if type(n) is int and 0 < n <= burst:  # most calls end here
            return n
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise Misuse(f"n must be a whole number of permits, 1 at least, not {n!r}")
        if n > burst:
            raise Misuse(
                f"{n} permits can never be had at once: the burst of {self.name!r} is {burst}."
                " Take fewer at a time, or make the burst larger."
            )
        return n

    def _longest(self, wait: Given | None) -> float | None:
        return self._wait if isinstance(wait, Unset) else checked_wait(wait)

    def __repr__(self) -> str:
        amount, period, burst = self._limit.terms
        rate = f"{amount} per {period / 1e6:g} s, burst {burst}"
        return f"<{type(self).__name__} {self.name!r} {rate} on {self._engine.session.backend}>"


class Limiter(_LimiterFace):
    """A shared rate limit, for threads.

    In any span of ``t`` seconds at most ``burst + rate * t`` permits are given, whoever asks. Use
    it in a ``with``, as a decorator (``{argument}`` in the name stands for an argument), or call
    ``acquire`` and ``try_acquire``.
    """

    __slots__ = ()

    def acquire(self, n: int = 1, wait: Given | None = UNSET) -> Permit:
        """Take ``n`` permits, sleeping until it is their turn; first come, first served.

        ``RateLimited`` at once, with ``retry_after``, if that would take longer than ``wait``.
        """
        permits, longest = self._permits(n), self._longest(wait)
        return run(take(self._engine.session, self._limit, permits, longest))

    def try_acquire(self, n: int = 1) -> Permit:
        """Take ``n`` permits if they are there; a ``Permit`` that is false says when they are."""
        return run(try_take(self._engine.session, self._limit, self._permits(n)))

    def __enter__(self) -> Permit:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Do nothing: a permit is used by having been taken."""

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Let each call of ``function`` take a permit first."""
        from holdfast.api.template import Template

        template = Template(self.name, function, wants_async=False)

        @wraps(function)
        def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            limit = self._limit._replace(name=template.fill(args, kwargs))
            run(take(self._engine.session, limit, 1, self._wait))
            return function(*args, **kwargs)

        return limited


class AsyncLimiter(_LimiterFace):
    """A shared rate limit, for tasks: the twin of ``Limiter``."""

    __slots__ = ()

    async def acquire(self, n: int = 1, wait: Given | None = UNSET) -> Permit:
        """Take ``n`` permits, sleeping until it is their turn; first come, first served.

        ``RateLimited`` at once, with ``retry_after``, if that would take longer than ``wait``.
        """
        permits, longest = self._permits(n), self._longest(wait)
        return await take(self._engine.session, self._limit, permits, longest)

    async def try_acquire(self, n: int = 1) -> Permit:
        """Take ``n`` permits if they are there; a ``Permit`` that is false says when they are."""
        return await try_take(self._engine.session, self._limit, self._permits(n))

    async def __aenter__(self) -> Permit:
        return await self.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Do nothing: a permit is used by having been taken."""

    def __call__(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Let each call of the coroutine function take a permit first."""
        from holdfast.api.template import Template

        template = Template(self.name, function, wants_async=True)

        @wraps(function)
        async def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            limit = self._limit._replace(name=template.fill(args, kwargs))
            await take(self._engine.session, limit, 1, self._wait)
            return await function(*args, **kwargs)

        return limited
