"""What runs under a lock, in a turn, for a key: plain functions for threads, coroutines for tasks.

A coroutine that a thread only makes, and a generator, would run when the lock is gone. Nothing of
either has run when it is made, so here it is refused, and no slot is closed nor result stored.
Decorators refuse it sooner: when the function is defined.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, TypeVar

from holdfast.errors import Misuse

T = TypeVar("T")


def called(fn: Callable[[], T]) -> T:
    """Run ``fn`` to its end, on this thread."""
    result = fn()
    if isinstance(result, CoroutineType):
        result.close()  # so that Python does not complain, too
        raise Misuse(f"{named(fn)} gives a coroutine, which has not run: use an AsyncClient for it")
    if isinstance(result, (GeneratorType, AsyncGeneratorType)):
        refuse_generator(fn)
    return result


async def awaited(fn: Callable[[], Awaitable[T]]) -> T:
    """Run ``fn`` to its end, in this task."""
    from inspect import isawaitable  # asyncio has it loaded

    coming: object = fn()
    if not isawaitable(coming):
        refuse_generator(fn)
        raise Misuse(f"{named(fn)} gives nothing to await: use a sync Client for it")
    result: T = await coming
    return result


def refuse_unfit(function: Callable[..., Any], *, wants_async: bool) -> None:
    """Refuse to decorate what cannot run under a lock of this kind."""
    from inspect import iscoroutinefunction

    refuse_generator(function)
    is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
    if is_async and not wants_async:
        raise Misuse(f"{named(function)} is an async def; use an AsyncClient for it")
    if wants_async and not is_async:
        raise Misuse(f"{named(function)} is not an async def; use a sync Client for it")


def refuse_generator(function: Callable[..., Any]) -> None:
    """Refuse a function whose body runs only as far as somebody asks for what it yields."""
    from inspect import isasyncgenfunction, isgeneratorfunction

    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise Misuse(
            f"{named(function)} is a generator: the lock would be gone before its body runs; take"
            " the lock inside it"
        )


def named(function: Callable[..., Any]) -> str:
    """Say what it is called, also if it has no name of its own."""
    name: str = getattr(function, "__qualname__", "") or repr(function)
    return name
