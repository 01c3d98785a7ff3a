"""Other libraries' locks on PostgreSQL, as their own pages tell people to use them.

Both keep a lock as long as a session: one connection for each, and nothing behind a pooler. Who is
not installed is left out.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec

import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.postgres.bare import POOLED
from benchmarks.redis.ours import AsyncWork, Work

Locks = Callable[[sqlalchemy.Engine], Work]

DLOCK = "sqlalchemy-dlock"


def _pals(engine: sqlalchemy.Engine) -> Work:
    import pals  # type: ignore[import-untyped]

    locker = pals.Locker("bench", create_engine_callable=lambda: engine)

    def work(name: str, until: float) -> int:
        cycles = 0
        while time.perf_counter() < until:
            with locker.lock(name):
                cycles += 1
        return cycles

    return work


def _dlock(engine: sqlalchemy.Engine) -> Work:
    from sqlalchemy_dlock.factory import create_sadlock

    def work(name: str, until: float) -> int:
        cycles = 0
        with engine.connect() as connection:
            while time.perf_counter() < until:
                with create_sadlock(connection, name):
                    cycles += 1
        return cycles

    return work


PEERS: dict[str, Locks] = {"pals": _pals, DLOCK: _dlock}


@contextmanager
def working(locks: Locks, url: str) -> Iterator[Work]:
    """Give a peer's work, on an engine of its own."""
    engine = sqlalchemy.create_engine(_by_psycopg(url))
    try:
        yield locks(engine)
    finally:
        engine.dispose()


@asynccontextmanager
async def dlock_working_async(url: str) -> AsyncIterator[AsyncWork]:
    """Give the work of one task with the only peer that has locks for tasks, over a small pool."""
    from sqlalchemy_dlock.factory import create_async_sadlock

    engine = create_async_engine(
        _by_psycopg(url), pool_size=POOLED, max_overflow=0, pool_timeout=120
    )

    async def work(name: str, until: float) -> int:
        cycles = 0
        while time.perf_counter() < until:
            async with engine.connect() as connection, create_async_sadlock(connection, name):
                cycles += 1
        return cycles

    try:
        yield work
    finally:
        await engine.dispose()


def _by_psycopg(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")


def installed() -> dict[str, Locks]:
    """Give those that are there."""
    return {name: one for name, one in PEERS.items() if find_spec(name.replace("-", "_"))}
