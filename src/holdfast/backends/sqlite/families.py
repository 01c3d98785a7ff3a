"""Records and buckets in the file: their tables, made when first written to, and who answers.

They have a version of their own beside the schema's: a file that is used for locks alone stays as
it is, and programs with an older holdfast can go on using its locks (decision 0013).
"""

from __future__ import annotations

import sqlite3
import time

from holdfast.backends.sqlite import buckets, faults, records, schema
from holdfast.backends.sqlite.need import LASTING, READING, WRITING, Need
from holdfast.rules.bucket_messages import BucketReply, BucketRequest
from holdfast.rules.messages import Request
from holdfast.rules.record_messages import Get, RecordReply, RecordRequest, Swap

VERSION = 1

TIDIED_AT_ONCE = 500

_NOTE = "INSERT INTO meta VALUES ('families', ?)"


def need_of(request: Request) -> Need:
    """Say what it takes to answer: a swap must outlive a power cut, what was taken need not."""
    if isinstance(request, Swap):
        return LASTING
    return READING if isinstance(request, Get) else WRITING


def answer(
    connection: sqlite3.Connection,
    prefix: str,
    request: RecordRequest | BucketRequest,
) -> RecordReply | BucketReply:
    """Carry out one request; all but a ``Get`` in a transaction that somebody else has begun."""
    now = time.time_ns() // 1000
    if isinstance(request, Get) and not is_set_up(connection):
        return records.absent(request, now)
    if isinstance(request, (Get, Swap)):
        return records.answer(connection, prefix, request, now)
    return buckets.answer(connection, prefix, request, now)


def is_set_up(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; those of a newer holdfast are refused."""
    found = connection.execute(schema.FAMILIES).fetchone()
    if found is not None and found[0] != VERSION:
        raise faults.newer_families(found[0], VERSION)
    return found is not None


def tidy(connection: sqlite3.Connection, version: object) -> None:
    """Forget what has ended though nobody writes any more; what is newer is not ours to touch."""
    if version != VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        now = time.time_ns() // 1000
        records.forget(connection, now, TIDIED_AT_ONCE)
        buckets.forget(connection, now, TIDIED_AT_ONCE)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def set_up(connection: sqlite3.Connection) -> None:
    """Make the tables, in a transaction that somebody else has begun."""
    if not is_set_up(connection):
        for statement in (*records.TABLES, *buckets.TABLES):
            connection.execute(statement)
        connection.execute(_NOTE, (VERSION,))
