"""Which line belongs to which client of redis-py: one per connection pool, as long as that lives.

Only the client's settings are read; the line has connections of its own and never touches theirs.
It is made when somebody first waits, and goes with the pool. An async one also goes with its loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, finalize

from holdfast.backends.redis.adopt import adopted
from holdfast.backends.redis.backend import RedisBackend
from holdfast.compat.redis_py.line import PREFIX, Line, NoLine
from holdfast.compat.redis_py.watch import LoopWatch, ThreadWatch
from holdfast.errors import HoldfastError
from holdfast.observe.hub import Hub
from holdfast.observe.logs import logger
from holdfast.ports import Runtime
from holdfast.runtimes.aio import AioRuntime
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.sync import SyncRuntime
from holdfast.settings import address

L = TypeVar("L", bound=Line)

CALL_LIMIT = 1.0
"""How long one exchange about the line may take: without it things work, too, only less well."""


class LoopLine(Line):
    """A line for the tasks of one loop; when that ends in good order, so do its connections."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, LoopWatch())
        self.loop = asyncio.get_running_loop()
        self._end = _close_with_the_loop(engine)

    async def tie(self) -> None:
        """Tie the line to its loop."""
        await anext(self._end)


_thread_lines: WeakKeyDictionary[object, Line] = WeakKeyDictionary()
_loop_lines: WeakKeyDictionary[object, LoopLine] = WeakKeyDictionary()


def thread_line(redis: Any) -> Line:
    """Give the line of a sync client, making it first if need be."""
    pool = _pool(redis)
    line = _thread_lines.get(pool)
    if line is None:
        engine = _engine(redis, SyncRuntime(), tasks=False)
        if engine is None:
            return NoLine()
        made = _kept(Line(engine, ThreadWatch()), engine)
        line = _thread_lines.setdefault(pool, made)  # another thread may have been quicker
    return line


async def loop_line(redis: Any) -> Line:
    """Give the line of an async client on the loop that is running, making it if need be."""
    pool = _pool(redis)
    line = _loop_lines.get(pool)
    if line is None or line.loop is not asyncio.get_running_loop():
        engine = _engine(redis, AioRuntime(), tasks=True)
        if engine is None:
            return NoLine()
        line = _loop_lines[pool] = _kept(LoopLine(engine), engine)
        await line.tie()
    return line


def _kept(line: L, engine: Engine) -> L:
    """Let the engine go when the line is collected, without waiting for anything."""
    finalizer = finalize(line, engine.abandon)
    finalizer.atexit = False  # at exit the engine stops by itself
    return line


def _pool(redis: Any) -> object:
    """Give what the settings belong to; a client of a cluster has many pools: it is itself."""
    return getattr(redis, "connection_pool", None) or redis


def _engine(redis: Any, runtime: Runtime, *, tasks: bool) -> Engine | None:
    """Make what stands behind a holdfast client; ``None`` if the server cannot be found.

    Not a whole client: that would refer to ``redis``, hence to the pool whose end is to be noticed.
    There is no quarantine either: the key decides, and a line that was forgotten does no harm.
    """
    try:
        where = address(redis)._replace(client=None)
        target = adopted(redis, where.shown)._replace(quarantine=0.0)
    except (HoldfastError, AttributeError, TypeError, ValueError) as error:
        _say_once(type(redis).__name__, str(error))
        return None
    backend = RedisBackend(target, PREFIX)
    return Engine(
        backend,
        runtime,
        backend.aio_wire if tasks else backend.sync_wire,
        label="",
        call_limit=CALL_LIMIT,
        hub=Hub(),
        command=where.command,
    )


@cache
def _say_once(kind: str, error: str) -> None:
    logger.warning("no line for locks of a %s, so they are polled: %s", kind, error)


async def _close_with_the_loop(engine: Engine) -> AsyncGenerator[None]:
    """Close the engine when the loop shuts its generators down, or when the line is collected.

    Nobody else tells a library that a loop is about to end.
    """
    try:
        yield
    finally:
        await engine.close()
