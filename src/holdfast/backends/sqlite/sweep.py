"""Forgetting names that nobody used for a day, and the pipes of the dead: a little at a time.

The table has no index for this, because every take and give-back would pay for it. Instead a slice
of it is looked at now and then, so that no transaction is ever held up by the size of the file.
At the end of each round go the records and buckets that have ended and that nobody took along.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from holdfast.backends.sqlite import inbox, schema
from holdfast.rules.holding import IDLE_FOR

SLICE = 500
SLICE_EVERY = 1.0
ROUND_EVERY = 3600.0

PIPE_KEPT_FOR = 3600.0
"""How long the pipe of a dead client stays: while it is there its leases are seen to be dead."""


class Sweep:
    """Where one connection is on its way through the table."""

    def __init__(self, inboxes: Path) -> None:
        self._inboxes = inboxes
        self._after = 0
        self.due_at = 0.0

    def go_on(self, connection: sqlite3.Connection, now: float, lease_now: float) -> None:
        """Look at the next slice; at the end of the table rest for an hour."""
        self.due_at = now + SLICE_EVERY
        idle_since = lease_now - IDLE_FOR
        rows = connection.execute(schema.SLICE, (idle_since, self._after, SLICE)).fetchall()
        idle = [(rowid, token) for rowid, token, is_idle in rows if is_idle]
        if idle:
            _forget(connection, idle, idle_since)
        if len(rows) == SLICE:
            self._after = rows[-1][0]
            return
        self._after, self.due_at = 0, now + ROUND_EVERY
        found = connection.execute(schema.FAMILIES).fetchone()
        if found:
            from holdfast.backends.sqlite import families  # locks alone do without

            families.tidy(connection, found[0])
        if self._inboxes.is_dir():
            inbox.sweep(self._inboxes, time.time() - PIPE_KEPT_FOR)


def _forget(connection: sqlite3.Connection, idle: list[tuple[int, int]], idle_since: float) -> None:
    """Delete them, but remember how high their tokens were: new names start above that."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(schema.RAISE_FLOOR, (max(token for _, token in idle),))
        connection.executemany(schema.DELETE_IDLE, [(rowid, idle_since) for rowid, _ in idle])
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
