"""Listens in on what holdfast asks of SQLite, from outside: nothing in the library knows of it.

So the bare pair that the lock cycle is set against is made of the very statements that holdfast
executes today, and transactions are counted where they happen.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self
from unittest.mock import patch

Statement = tuple[str, Any]
"""The SQL and its parameters."""


@dataclass(frozen=True, slots=True)
class Tap:
    """What was heard: every statement, and when each transaction began."""

    statements: list[Statement] = field(default_factory=list)
    begun_at: list[float] = field(default_factory=list)

    def hear(self, connection: sqlite3.Connection, sql: str, parameters: Any) -> None:
        """Take note; a statement outside a transaction begins one, be it of a single read."""
        self.statements.append((sql, parameters))
        if not connection.in_transaction:
            self.begun_at.append(time.monotonic())


@contextmanager
def tapped() -> Iterator[Tap]:
    """Hear every connection that is opened inside, for as long as it lives."""
    tap = Tap()

    class TappedCursor(sqlite3.Cursor):
        def execute(self, sql: str, parameters: Any = (), /) -> Self:
            tap.hear(self.connection, sql, parameters)
            return super().execute(sql, parameters)

    class TappedConnection(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            tap.hear(self, sql, parameters)
            return super().execute(sql, parameters)

        def cursor(self, factory: Any = TappedCursor) -> Any:
            return super().cursor(factory)

    with patch("sqlite3.connect", partial(sqlite3.connect, factory=TappedConnection)):
        yield tap
