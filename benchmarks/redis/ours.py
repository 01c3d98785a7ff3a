"""holdfast at work in the lock cycles: with one lock object, and with a new one each time."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import holdfast

REUSED, FRESH = "one lock object", "a new object each"

Work = Callable[[str, float], int]
"""Take and give back a name until a moment of ``perf_counter``; give how often that was."""

AsyncWork = Callable[[str, float], Awaitable[int]]


@contextmanager
def working(url: str) -> Iterator[dict[str, Work]]:
    """Give both ways of working, on one client."""
    with holdfast.Client(url) as client:

        def reused(name: str, until: float) -> int:
            lock = client.lock(name)
            cycles = 0
            while time.perf_counter() < until:
                with lock:
                    cycles += 1
            return cycles

        def fresh(name: str, until: float) -> int:
            cycles = 0
            while time.perf_counter() < until:
                with client.lock(name):
                    cycles += 1
            return cycles

        yield {REUSED: reused, FRESH: fresh}


@asynccontextmanager
async def working_async(url: str) -> AsyncIterator[dict[str, AsyncWork]]:
    """Give both ways of working, on one client."""
    async with holdfast.AsyncClient(url) as client:

        async def reused(name: str, until: float) -> int:
            lock = client.lock(name)
            cycles = 0
            while time.perf_counter() < until:
                async with lock:
                    cycles += 1
            return cycles

        async def fresh(name: str, until: float) -> int:
            cycles = 0
            while time.perf_counter() < until:
                async with client.lock(name):
                    cycles += 1
            return cycles

        yield {REUSED: reused, FRESH: fresh}
