"""The other Redlocks for Python, each used the way its documentation shows it.

A peer that is not installed is left out and said so. All take a lock of ten seconds, an object per
name, on the same servers.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.redis.peers import CONNECTIONS, TTL, AsyncLock, Lock

Locks = Callable[[Sequence[int]], AbstractContextManager[Callable[[str], Lock]]]
AsyncLocks = Callable[[Sequence[int]], AbstractAsyncContextManager[Callable[[str], AsyncLock]]]


@contextmanager
def _pottery(ports: Sequence[int]) -> Iterator[Callable[[str], Lock]]:
    lock = import_module("pottery").Redlock
    with ExitStack() as stack:
        make = import_module("redis").Redis
        masters = {
            stack.enter_context(make(port=port, max_connections=CONNECTIONS)) for port in ports
        }
        yield lambda name: lock(key=name, masters=masters, auto_release_time=TTL)


@asynccontextmanager
async def _pottery_async(ports: Sequence[int]) -> AsyncIterator[Callable[[str], AsyncLock]]:
    lock = import_module("pottery").AIORedlock
    async with AsyncExitStack() as stack:
        make = import_module("redis.asyncio").Redis
        masters = {
            await stack.enter_async_context(make(port=port, max_connections=CONNECTIONS))
            for port in ports
        }
        yield lambda name: lock(key=name, masters=masters, auto_release_time=TTL)


@contextmanager
def _redlock_ng(ports: Sequence[int]) -> Iterator[Callable[[str], Lock]]:
    locks = import_module("redlock").Redlock([f"redis://127.0.0.1:{port}/0" for port in ports])
    yield lambda name: locks.lock(name, TTL * 1000)


@asynccontextmanager
async def _redlock_ng_async(ports: Sequence[int]) -> AsyncIterator[Callable[[str], AsyncLock]]:
    urls = [f"redis://127.0.0.1:{port}/0" for port in ports]
    locks = import_module("redlock").AsyncRedlock(urls)
    yield lambda name: locks.lock(name, TTL * 1000)


_NEEDS = {"pottery": ("pottery",), "redlock-ng": ("redlock", "pydantic")}


def _installed(peer: str) -> bool:
    return all(find_spec(package) for package in _NEEDS[peer])


_SYNC: dict[str, Locks] = {"pottery": _pottery, "redlock-ng": _redlock_ng}
_ASYNC: dict[str, AsyncLocks] = {"pottery": _pottery_async, "redlock-ng": _redlock_ng_async}

SYNC = {peer: locks for peer, locks in _SYNC.items() if _installed(peer)}
ASYNC = {peer: locks for peer, locks in _ASYNC.items() if _installed(peer)}
MISSING = [peer for peer in _NEEDS if not _installed(peer)]
NEVER: dict[str, Any] = {"aioredlock": "needs aioredis, which does not import on Python 3.11"}
