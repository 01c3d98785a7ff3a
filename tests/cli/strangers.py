"""Other people's things on a backend, under the very names that verify uses, and how they look.

A place shows what is theirs and what is left of verify's own, kind by kind: all of it as values
that are equal as long as nobody has touched anything.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from holdfast import Client

PREFIXES = ("holdfast", "holdfast-verify")
"""The usual one, and one that begins as verify's own do."""

OURS = "holdfast-verify-"

_SUM = "return redis.sha1hex(redis.call('DUMP', KEYS[1]))"


def settle(url: str) -> None:
    """Leave something of every kind there, which stays for as long as a test takes."""
    for prefix in PREFIXES:
        with Client(url, prefix=prefix) as client:
            with client.lock("a"), client.rwlock("rwlock:r").read(), client.lead("lead:l"):
                pass
            with client.semaphore("semaphore:s", permits=3):
                pass
            client.cell("cell-0", expire="1h").update(lambda _: 1)  # no litter on a shared server
            client.once("key-1").run(lambda: 1)
            client.singleton("job", per="1d")(lambda: 1)()
            client.limiter("quota", "1/h", burst=5).try_acquire()


class Place(Protocol):
    """Where things are kept."""

    def theirs(self) -> Any:
        """Give what strangers have there."""
        ...

    def ours(self) -> list[Any]:
        """Give what is there of verify's own."""
        ...


class InRedis:
    """The keys of some servers that share them, and a sum of what is in each."""

    def __init__(self, *servers: Any) -> None:
        self._servers = servers

    def theirs(self) -> dict[str, str]:
        """Give the keys of strangers."""
        return {
            key: server.ask("EVAL", _SUM, 1, key)
            for server in self._servers
            for prefix in PREFIXES
            for key in server.ask("KEYS", f"{prefix}:*")
        }

    def ours(self) -> list[str]:
        """Give keys, and channels that somebody listens to."""
        found: list[str] = []
        for server in self._servers:
            found += server.ask("KEYS", f"{OURS}*") + server.ask("PUBSUB", "CHANNELS", f"{OURS}*")
        return found


class _InTables:
    """Rows, of which the first column is the prefix."""

    def __init__(self, read: Callable[[str], list[tuple[Any, ...]]], *tables: str) -> None:
        self._read = read
        self._tables = tables

    def theirs(self) -> dict[str, list[tuple[Any, ...]]]:
        """Give the rows of strangers, table by table."""
        return {
            table: [row for row in self._read(table) if row[0] in PREFIXES]
            for table in self._tables
        }

    def ours(self) -> list[Any]:
        """Give the rows that are left."""
        rows = [row for table in self._tables for row in self._read(table)]
        return [row for row in rows if row[0].startswith(OURS)]


class InSqlite(_InTables):
    """The rows of a file, and the pipes beside it."""

    def __init__(self, file: Path) -> None:
        super().__init__(self._rows, "names", "records", "buckets")
        self._file = file

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._file)) as connection:
            return connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - constants

    def pipes(self) -> set[str]:
        """Name the inboxes of all clients, dead or alive."""
        folder = self._file.with_name(f"{self._file.name}-inboxes")
        return {path.name for path in folder.iterdir()}


class InPostgres(_InTables):
    """The rows of a schema."""

    def __init__(self, server: Any, schema: str, *tables: str) -> None:
        super().__init__(self._rows, *tables)
        self._server = server
        self._schema = schema

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        statement = f"SELECT t.prefix, t.* FROM {self._schema}.{table} t ORDER BY t.*"  # noqa: S608 - constants
        found: list[tuple[Any, ...]] = self._server.ask(statement)
        return found
