"""Records in the file: one row each, read, stepped by the rule, written back.

What has ended goes away by itself: each write takes a few such rows along, found by an index, so
the table does not grow with what it has forgotten. Counterpart: ``rules.record``.
"""

from __future__ import annotations

import sqlite3

from holdfast.backends.sqlite import faults
from holdfast.rules.record import FORMAT, REMEMBERED_FOR, Kept, step
from holdfast.rules.record_messages import Get, RecordReply, RecordRequest

TABLES = (
    """CREATE TABLE IF NOT EXISTS records (
        prefix TEXT NOT NULL,
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        format INTEGER NOT NULL,
        version INTEGER NOT NULL,
        ends_at INTEGER,
        fence INTEGER NOT NULL,
        swaps TEXT NOT NULL,
        dropped INTEGER NOT NULL,
        forget_at INTEGER,
        value BLOB,
        UNIQUE (prefix, space, name)
    )""",
    """CREATE INDEX IF NOT EXISTS forgotten_records ON records (forget_at)
        WHERE forget_at IS NOT NULL""",
)

FORGOTTEN_AT_ONCE = 3
"""More than a write can make, and never a pause."""

_LOAD = (
    "SELECT format, version, value, ends_at, fence, swaps, dropped FROM records"
    " WHERE prefix = ? AND space = ? AND name = ?"
)
_STORE = (
    "INSERT INTO records (format, version, value, ends_at, fence, swaps, dropped, forget_at,"
    " prefix, space, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (prefix, space, name) DO UPDATE SET format = excluded.format,"
    " version = excluded.version, value = excluded.value, ends_at = excluded.ends_at,"
    " fence = excluded.fence, swaps = excluded.swaps, dropped = excluded.dropped,"
    " forget_at = excluded.forget_at"
)
_FORGOTTEN = "SELECT rowid, version FROM records WHERE forget_at <= ? LIMIT ?"
_DELETE = "DELETE FROM records WHERE rowid = ?"
_FLOOR = "SELECT value FROM meta WHERE key = 'versions'"
_RAISE_FLOOR = (
    "INSERT INTO meta VALUES ('versions', ?)"
    " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)"
)


def answer(
    connection: sqlite3.Connection, prefix: str, request: RecordRequest, now: int
) -> RecordReply:
    """Step one request at ``now``, the wall clock in microseconds."""
    place = (prefix, request.space, request.name)
    before = _loaded(connection, place)
    try:
        after, reply = step(before, request, now)
    except (ValueError, TypeError) as error:
        raise faults.garbled(request.name) from error
    if after is not before:
        ends_at = after.ends_at
        forget_at = None if ends_at is None else ends_at + REMEMBERED_FOR
        connection.execute(_STORE, (FORMAT, *after, forget_at, *place))
        forget(connection, now, FORGOTTEN_AT_ONCE)
    return reply


def absent(request: Get, now: int) -> RecordReply:
    """Answer where there is no table yet."""
    return step(Kept(), request, now)[1]


def _loaded(connection: sqlite3.Connection, place: tuple[str, str, str]) -> Kept:
    row = connection.execute(_LOAD, place).fetchone()
    if row is None:
        floor = connection.execute(_FLOOR).fetchone()
        return Kept(floor[0] if floor else 0)
    if row[0] > FORMAT:
        raise faults.newer_format(place[2], row[0], FORMAT)
    return Kept(*row[1:])


def forget(connection: sqlite3.Connection, now: int, most: int) -> None:
    """Delete a few, but remember how high their versions were: new records start above that."""
    rows = connection.execute(_FORGOTTEN, (now, most)).fetchall()
    if rows:
        connection.execute(_RAISE_FLOOR, (max(version for _, version in rows),))
        connection.executemany(_DELETE, [(rowid,) for rowid, _ in rows])
