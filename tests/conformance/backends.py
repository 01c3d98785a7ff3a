"""The backends that the suite is run on. A new one is one entry in ``REGISTERED``."""

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.testing.suite import BackendUnderTest
from tests.conformance.advisory_backends import ADVISORY
from tests.conformance.postgres_backends import POSTGRES
from tests.conformance.redis_backends import REDIS, REDIS_CLUSTER, REDIS_SENTINEL
from tests.conformance.redlock_backends import REDLOCK

_numbers = itertools.count()


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///").partition("?")[0])


def _litter(url: str) -> list[str]:
    """Name inboxes that closed clients left behind, and say so if the file is still locked."""
    file = _file(url)
    folder = file.with_name(file.name + "-inboxes")
    left = [str(path) for path in folder.iterdir()] if folder.is_dir() else []
    with sqlite3.connect(file, timeout=0, isolation_level=None) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            left.append(f"a lock on the file: {error}")
    connection.close()
    return left


@contextmanager
def _locked_by_another(url: str) -> Iterator[None]:
    """Keep every writer out of the file."""
    connection = sqlite3.connect(_file(url), timeout=5, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()  # which rolls back


MEMORY = BackendUnderTest(
    name="memory",
    schemes=frozenset({"memory"}),
    fresh=lambda folder: f"memory://{folder}/{next(_numbers)}",
)

SQLITE = BackendUnderTest(
    name="sqlite",
    schemes=frozenset({"sqlite"}),
    fresh=lambda folder: f"sqlite:///{folder / 'locks.db'}",
    unreachable=_locked_by_another,
    litter=_litter,
)

SQLITE_TICK = BackendUnderTest(
    name="sqlite-tick",
    schemes=frozenset({"sqlite"}),
    fresh=lambda folder: f"sqlite:///{folder / 'locks.db'}?wakeup=tick",
    unreachable=_locked_by_another,
    litter=_litter,
)

REGISTERED = (
    MEMORY,
    SQLITE,
    REDIS,
    REDIS_SENTINEL,
    REDIS_CLUSTER,
    REDLOCK,
    POSTGRES,
    ADVISORY,
)
