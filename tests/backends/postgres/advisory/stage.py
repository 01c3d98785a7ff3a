"""Session locks on the shared server, in a database of their own, and what it says of them."""

from typing import Any

import psycopg

from tests.conformance.advisory_backends import advisory_url

LOCKS = """
SELECT l.pid, l.granted FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND d.datname = current_database()
"""

SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'holdfast %'
"""

THROW_OUT = f"SELECT pg_terminate_backend(pid) FROM ({SESSIONS}) AS everybody"  # noqa: S608


def plain(url: str) -> str:
    """Give the same database as other programs write it."""
    return url.partition("?")[0].replace("postgresql+advisory", "postgresql")


def ask(statement: str, url: str = "") -> list[tuple[Any, ...]]:
    """Carry out a statement in that database, on a session of its own."""
    with psycopg.connect(plain(url or advisory_url()), autocommit=True) as own:
        cursor = own.execute(statement)
        return cursor.fetchall() if cursor.description else []


def waiting() -> int:
    """Count the sessions that wait for a lock."""
    return sum(not granted for _, granted in ask(LOCKS))


def held() -> int:
    """Count the locks that are held."""
    return sum(granted for _, granted in ask(LOCKS))
