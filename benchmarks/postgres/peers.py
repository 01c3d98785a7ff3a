"""Other libraries' locks on PostgreSQL, as their own pages tell people to use them.

Both keep a lock as long as a session: one connection for each, and nothing behind a pooler. Who is
not installed is left out.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy

from benchmarks.redis.ours import Work

Locks = Callable[[sqlalchemy.Engine], Work]


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


PEERS: dict[str, Locks] = {"pals": _pals, "sqlalchemy-dlock": _dlock}


@contextmanager
def working(locks: Locks, url: str) -> Iterator[Work]:
    """Give a peer's work, on an engine of its own."""
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        yield locks(engine)
    finally:
        engine.dispose()


def installed() -> dict[str, Locks]:
    """Give those that are there."""
    from importlib.util import find_spec

    return {name: one for name, one in PEERS.items() if find_spec(name.replace("-", "_"))}
