"""The other lock libraries for Redis, each used the way its documentation shows it.

A peer that is not installed is left out and said so. All work like holdfast in these workloads: a
lock of ten seconds, an object per name, one thread or task each.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from importlib import import_module
from importlib.util import find_spec
from typing import Any

TTL = 10
CONNECTIONS = 2000
"""redis-py takes a connection for every call under way and fails above a hundred, unless told."""

Lock = AbstractContextManager[Any, Any]
AsyncLock = AbstractAsyncContextManager[Any, Any]
Locks = Callable[[int], AbstractContextManager[Callable[[str], Lock]]]
AsyncLocks = Callable[[int], AbstractAsyncContextManager[Callable[[str], AsyncLock]]]

REDIS_PY, PYTHON_REDIS_LOCK, POTTERY = "redis-py Lock", "python-redis-lock", "pottery Redlock"


@contextmanager
def _redis_py(port: int) -> Iterator[Callable[[str], Lock]]:
    with import_module("redis").Redis(port=port, max_connections=CONNECTIONS) as client:
        yield lambda name: client.lock(name, timeout=TTL)


@contextmanager
def _python_redis_lock(port: int) -> Iterator[Callable[[str], Lock]]:
    lock = import_module("redis_lock").Lock
    with import_module("redis").Redis(port=port, max_connections=CONNECTIONS) as client:
        yield lambda name: lock(client, name, expire=TTL)


@contextmanager
def _pottery(port: int) -> Iterator[Callable[[str], Lock]]:
    lock = import_module("pottery").Redlock
    with import_module("redis").Redis(port=port, max_connections=CONNECTIONS) as client:
        yield lambda name: lock(key=name, masters={client}, auto_release_time=TTL)


@asynccontextmanager
async def _redis_py_async(port: int) -> AsyncIterator[Callable[[str], AsyncLock]]:
    client = import_module("redis.asyncio").Redis(port=port, max_connections=CONNECTIONS)
    async with client:
        yield lambda name: client.lock(name, timeout=TTL)


@asynccontextmanager
async def _pottery_async(port: int) -> AsyncIterator[Callable[[str], AsyncLock]]:
    lock = import_module("pottery").AIORedlock
    client = import_module("redis.asyncio").Redis(port=port, max_connections=CONNECTIONS)
    async with client:
        yield lambda name: lock(key=name, masters={client}, auto_release_time=TTL)


def _installed(peers: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    return {name: locks for name, (module, locks) in peers.items() if find_spec(module)}


PEERS: dict[str, Locks] = _installed(
    {
        REDIS_PY: ("redis", _redis_py),
        PYTHON_REDIS_LOCK: ("redis_lock", _python_redis_lock),
        POTTERY: ("pottery", _pottery),
    }
)
ASYNC_PEERS: dict[str, AsyncLocks] = _installed(
    {REDIS_PY: ("redis", _redis_py_async), POTTERY: ("pottery", _pottery_async)}
)
MISSING = {REDIS_PY, PYTHON_REDIS_LOCK, POTTERY} - set(PEERS)


@contextmanager
def working(locks: Locks, port: int) -> Iterator[Callable[[str, float], int]]:
    """Work on any number of threads with a peer's locks."""
    with locks(port) as lock_on:

        def work(name: str, until: float) -> int:
            lock = lock_on(name)
            cycles = 0
            while time.perf_counter() < until:
                with lock:
                    cycles += 1
            return cycles

        yield work


@asynccontextmanager
async def working_async(
    locks: AsyncLocks, port: int
) -> AsyncIterator[Callable[[str, float], Awaitable[int]]]:
    """Work in any number of tasks with a peer's locks."""
    async with locks(port) as lock_on:

        async def work(name: str, until: float) -> int:
            lock = lock_on(name)
            cycles = 0
            while time.perf_counter() < until:
                async with lock:
                    cycles += 1
            return cycles

        yield work
