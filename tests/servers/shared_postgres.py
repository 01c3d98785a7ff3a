"""The one PostgreSQL that tests share: one for each process of pytest, started when asked for.

``HOLDFAST_TEST_POSTGRES_URL`` names a server to use instead. Whoever shares it keeps to a prefix or
a schema of its own; a test that stops its server takes a `PostgresServer` for itself.
"""

import functools
import os
from typing import Any

import psycopg

from tests.servers.postgres import Option, PostgresServer

GIVEN = "HOLDFAST_TEST_POSTGRES_URL"


class GivenPostgres:
    """A server that somebody else runs."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self, **options: Option) -> str:
        """Give its URL, with options added to those that were given."""
        joined = "&".join(f"{name}={value}" for name, value in options.items())
        return f"{self._url}{'&' if '?' in self._url else '?'}{joined}" if joined else self._url

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Carry out one statement and give its rows."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []


SharedPostgres = PostgresServer | GivenPostgres  # tests rely on what both of them have


def shared_postgres() -> SharedPostgres:
    """Give the shared server of this process; ``processes.close_all`` ends it."""
    given = os.environ.get(GIVEN)
    return GivenPostgres(given) if given else _own(os.getpid())


@functools.cache
def _own(_process: int) -> PostgresServer:
    return PostgresServer().start()
