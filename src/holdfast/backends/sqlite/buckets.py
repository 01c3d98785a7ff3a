"""Buckets in the file: one row each while something is owed, stepped by the rule.

A bucket in which nothing is owed has no row. Those that nobody asks about any more are found by an
index and taken along by the writes of others. Counterpart: ``rules.bucket``.
"""

from __future__ import annotations

import sqlite3

from holdfast.backends.sqlite import faults
from holdfast.rules.bucket import FORMAT, Bucket, step
from holdfast.rules.bucket_messages import BucketReply, BucketRequest, Terms

TABLES = (
    """CREATE TABLE IF NOT EXISTS buckets (
        prefix TEXT NOT NULL,
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        format INTEGER NOT NULL,
        amount INTEGER NOT NULL,
        period INTEGER NOT NULL,
        burst INTEGER NOT NULL,
        owed INTEGER NOT NULL,
        at INTEGER NOT NULL,
        takes TEXT NOT NULL,
        forget_at INTEGER NOT NULL,
        UNIQUE (prefix, space, name)
    )""",
    "CREATE INDEX IF NOT EXISTS idle_buckets ON buckets (forget_at)",
)

FORGOTTEN_AT_ONCE = 3
"""More than a take can make, and never a pause."""

_LOAD = (
    "SELECT format, amount, period, burst, owed, at, takes FROM buckets"
    " WHERE prefix = ? AND space = ? AND name = ?"
)
_STORE = (
    "INSERT INTO buckets (format, amount, period, burst, owed, at, takes, forget_at,"
    " prefix, space, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (prefix, space, name) DO UPDATE SET format = excluded.format,"
    " amount = excluded.amount, period = excluded.period, burst = excluded.burst,"
    " owed = excluded.owed, at = excluded.at, takes = excluded.takes,"
    " forget_at = excluded.forget_at"
)
_DELETE = "DELETE FROM buckets WHERE prefix = ? AND space = ? AND name = ?"
_FORGET = (
    "DELETE FROM buckets WHERE rowid IN (SELECT rowid FROM buckets WHERE forget_at <= ? LIMIT ?)"
)


def answer(
    connection: sqlite3.Connection, prefix: str, request: BucketRequest, now: int
) -> BucketReply:
    """Step one request at ``now``, the wall clock in microseconds."""
    place = (prefix, request.space, request.name)
    before = _loaded(connection, place)
    try:
        after, reply = step(before, request, now)
    except (ValueError, TypeError) as error:
        raise faults.garbled(request.name) from error
    if after is before:
        return reply
    if after is None:
        connection.execute(_DELETE, place)
    else:
        terms, owed, at, takes = after
        row = (FORMAT, *terms, owed, at, takes, after.empty_at)
        connection.execute(_STORE, (*row, *place))
        forget(connection, now, FORGOTTEN_AT_ONCE)
    return reply


def forget(connection: sqlite3.Connection, now: int, most: int) -> None:
    """Delete a few of those in which nothing is owed any more."""
    connection.execute(_FORGET, (now, most))


def _loaded(connection: sqlite3.Connection, place: tuple[str, str, str]) -> Bucket | None:
    row = connection.execute(_LOAD, place).fetchone()
    if row is None:
        return None
    written, amount, period, burst, owed, at, takes = row
    if written > FORMAT:
        raise faults.newer_format(place[2], written, FORMAT)
    return Bucket(Terms(amount, period, burst), owed, at, takes)
