"""PostgreSQL's session locks as the suite meets them: in a database of their own."""

import functools
import os
from urllib.parse import urlsplit, urlunsplit

from holdfast.testing.suite import BackendUnderTest
from holdfast.testing.watching import eventually
from tests.conformance.postgres_backends import silenced
from tests.servers.shared_postgres import shared_postgres

_SESSIONS = """
SELECT application_name FROM pg_stat_activity
WHERE application_name LIKE 'holdfast %%' AND datname = %s
"""


@functools.cache
def advisory_database(_process: int) -> str:
    """Make a database for this process: every advisory lock in it is one of ours."""
    name = f"advisory_{os.getpid()}"
    shared_postgres().ask(f"CREATE DATABASE {name}")
    return name


def advisory_url(query: str = "") -> str:
    """Give the URL of that database."""
    parts = urlsplit(shared_postgres().url())
    place = f"/{advisory_database(os.getpid())}"
    return urlunsplit(parts._replace(scheme="postgresql+advisory", path=place, query=query))


def _left(_url: str) -> list[str]:
    """Name the sessions that closed clients have left behind."""
    server, database = shared_postgres(), advisory_database(os.getpid())
    try:
        eventually(lambda: not server.ask(_SESSIONS, database), 8.0, "no session left")
    except AssertionError:
        return [name for (name,) in server.ask(_SESSIONS, database)]
    return []


ADVISORY = BackendUnderTest(
    name="postgres-advisory",
    schemes=frozenset({"postgresql+advisory", "postgres+advisory"}),
    fresh=lambda _folder: advisory_url(),
    unreachable=silenced,
    litter=_left,
)
