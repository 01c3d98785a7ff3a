"""Run the Python samples of the README and of docs/ as tests.

The samples of one page share their names and run from top to bottom, so they are `serial`: parallel
workers would tear a page apart (xdist's groups do not hold with pytest 9.2: pytest-xdist#1386). The
pages about Redis and PostgreSQL find a real server in ``$REDIS_URL`` or ``$POSTGRES_URL``; a sample
that needs another one says `<!-- skip: next -->` above itself.
"""

import gc
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.sybil import SybilCollection

pytest_plugins = ["pytester"]  # only here: a conftest further down may not name plugins

SETTINGS = ("HOLDFAST_URL", "POSTGRES_URL", "REDIS_URL", "REDLOCK_URL", "XDG_STATE_HOME")
WITH_REDIS = ["README.md", "docs/redis.md", "docs/migrating-redis.md"]
WITH_POSTGRES = ["docs/migrations.md", "docs/postgres.md"]
WITH_REDLOCK = ["docs/redlock.md"]


def _enter(page: dict[str, Any]) -> None:
    """Give each page a folder of its own, and an embedded default of its own in it."""
    page["_folder"] = folder = tempfile.TemporaryDirectory()
    page["_before"] = (Path.cwd(), {name: os.environ.pop(name, None) for name in SETTINGS})
    os.environ["XDG_STATE_HOME"] = folder.name
    os.chdir(folder.name)


def _enter_with_redis(page: dict[str, Any]) -> None:
    """Give the page a Redis as well: a young one, so it must not be asked to wait for its age."""
    from tests.servers.shared import shared_server

    url = shared_server().url(quarantine=0)
    _enter(page)
    os.environ["REDIS_URL"] = url


def _enter_with_postgres(page: dict[str, Any]) -> None:
    """Give the page a PostgreSQL, in which nothing was there before it."""
    from tests.servers.shared_postgres import shared_postgres

    url = shared_postgres().url(quarantine=0)
    _enter(page)
    os.environ["POSTGRES_URL"] = url


def _enter_with_redlock(page: dict[str, Any]) -> None:
    """Give the page three servers of its own."""
    from tests.conformance.redlock_backends import shared_quorum_url

    url = shared_quorum_url()
    _enter(page)
    os.environ["REDLOCK_URL"] = url


def _leave(page: dict[str, Any]) -> None:
    from holdfast.api import default

    default_client = default._made.pop("client", None)  # noqa: SLF001 - each page has its own
    for thing in (default_client, *page.values()):
        if _is_open(thing):
            thing.close()
    was_in, settings = page["_before"]
    os.chdir(was_in)
    for name, value in settings.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    page["_folder"].cleanup()


def _is_open(thing: object) -> bool:
    """Whether a sample has left this open: a client of ours or of Redis, a database."""
    import sqlite3

    import redis

    from holdfast import Client

    return isinstance(thing, (Client, sqlite3.Connection, redis.Redis))


PARSERS = [PythonCodeBlockParser(), SkipParser()]
PAGES = Sybil(
    parsers=PARSERS,
    patterns=["docs/*.md", "docs/**/*.md"],
    excludes=[*WITH_REDIS, *WITH_POSTGRES, *WITH_REDLOCK],
    setup=_enter,
    teardown=_leave,
)
PAGES_WITH_REDIS = Sybil(
    parsers=PARSERS, patterns=WITH_REDIS, setup=_enter_with_redis, teardown=_leave
)
PAGES_WITH_POSTGRES = Sybil(
    parsers=PARSERS, patterns=WITH_POSTGRES, setup=_enter_with_postgres, teardown=_leave
)
PAGES_WITH_REDLOCK = Sybil(
    parsers=PARSERS, patterns=WITH_REDLOCK, setup=_enter_with_redlock, teardown=_leave
)
pytest_collect_file = SybilCollection(
    (PAGES, PAGES_WITH_REDIS, PAGES_WITH_POSTGRES, PAGES_WITH_REDLOCK)
).pytest()


def pytest_unconfigure() -> None:
    """Close the servers of the samples, also where no test was collected that would."""
    from tests.servers.processes import close_all

    close_all()


def pytest_collection_finish() -> None:
    """Keep Python's collector from going through thousands of collected tests again and again.

    On a busy machine that stopped a worker for most of a second, right in the middle of a test.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # pytest's own `-m` looks at the marks in this same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every sample as `serial`."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.serial)
