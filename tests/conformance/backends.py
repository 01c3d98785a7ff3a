"""The backends that the suite is run on. A new one is one entry in ``REGISTERED``."""

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.testing.suite import BackendUnderTest
from tests.servers.shared import shared_server

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



@contextmanager
def _silenced(_url: str) -> Iterator[None]:
    """Stop the server's process: it accepts everything and answers nothing."""
    server = shared_server()
    server.pause()
    try:
        yield
    finally:
        server.resume()


def _left_in_redis(_url: str) -> list[str]:
    """Name inboxes that somebody still listens to, and keys that would stay for ever."""
    server = shared_server()
    left = [channel.decode() for channel in server.ask("PUBSUB", "CHANNELS", "*:inbox:*")]
    _, keys = server.ask("SCAN", 0, "COUNT", 10_000)
    left += [key.decode() for key in keys if server.ask("PTTL", key) == -1]
    return left


REDIS = BackendUnderTest(
    name="redis",
    schemes=frozenset(
        {"redis", "rediss", "redis+unix", "valkey", "redis+sentinel", "redis+cluster"}
    ),
    fresh=lambda _folder: shared_server().url(quarantine=0),
    unreachable=_silenced,
    litter=_left_in_redis,
)

REGISTERED = (MEMORY, SQLITE, REDIS)
