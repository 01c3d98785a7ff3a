"""One transaction's work: records read, stepped by the rule, and written back.

Two ways to the same end. A ``Batch`` runs inside ``BEGIN IMMEDIATE``: read each record once, write
each once. ``alone`` needs one statement in all: when nobody else has touched a name since this
client wrote it, the row it remembers is stepped first, and written only if it is still that row.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.backends.sqlite import lease_clock, schema
from holdfast.backends.sqlite.codec import Row, from_row, to_row
from holdfast.backends.sqlite.living import Living
from holdfast.rules.claim import step, view
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    ClaimRequest,
    ListNames,
    Look,
    Notice,
    Reply,
    Request,
    Seen,
)
from holdfast.rules.together import step_all
from holdfast.values import NAME_LIMIT

if TYPE_CHECKING:
    from holdfast.rules.bucket_messages import BucketRequest
    from holdfast.rules.record_messages import RecordRequest

REMEMBERED = 1024
"""How many names' records one client remembers."""


class Known:
    """A record as it was last seen, at which version, and whether it is likely to be that still."""

    __slots__ = ("likely", "record", "version")

    def __init__(self, version: int, record: Record, *, likely: bool) -> None:
        self.version = version
        self.record = record
        self.likely = likely


class Memory:
    """The records that one client has seen lately. A row of the same version is the same row."""

    def __init__(self, prefix: str, living: Living) -> None:
        self.prefix = prefix
        self.living = living
        self.known: dict[str, Known] = {}
        self.has_families = False  # the tables of records and buckets are there

    def forget(self) -> None:
        """Trust nothing that was seen: the file is another one."""
        self.known.clear()
        self.has_families = False

    def remember(self, name: str, version: int, record: Record, *, likely: bool) -> None:
        """Keep what was read or written."""
        if len(self.known) >= REMEMBERED:
            self.known.clear()
        self.known[name] = Known(version, record, likely=likely)


def alone(
    connection: sqlite3.Connection, memory: Memory, request: ClaimRequest
) -> tuple[Reply, tuple[Notice, ...]] | None:
    """Answer with a single conditional write, or ``None`` where that cannot be.

    ``now`` is read before the write lock is got, which only makes a grant end earlier.
    """
    name = request.name
    known = memory.known.get(name)
    if known is None or not known.likely or isinstance(request, Look):
        return None
    before = known.record
    now = lease_clock.now()
    gone = () if before.idle else memory.living.gone(before, now)
    after, reply, notices = step(before, request, now, time.time_ns() // 1000, gone, gone)
    if after is before:
        return None  # an answer without a write would not be checked against the file
    version = known.version + 1
    row = (*to_row(after, version), now, memory.prefix, name, known.version)
    if connection.execute(schema.UPDATE, row).rowcount != 1:
        del memory.known[name]
        return None
    known.version, known.record = version, after
    return reply, notices


class Batch:
    """The records that one transaction works on: each read once, each written once."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        now: float,
    ) -> None:
        self._connection = connection
        self._execute: Callable[..., sqlite3.Cursor] = connection.execute
        self._memory = memory
        self._prefix = memory.prefix
        self._now = now
        self._before: dict[str, Known | None] = {}
        self._after: dict[str, Record] = {}
        self.notices: list[Notice] = []

    def answer(self, request: Request) -> Reply:
        """Step one request."""
        if not isinstance(request, CLAIM_REQUESTS):
            return self._answer_others(request)
        name = request.name
        record = self._after.get(name) or self._loaded(name)
        gone = self._memory.living.gone(record, self._now) if record.grants or record.queue else ()
        mint = time.time_ns() // 1000
        self._after[name], reply, notices = step(record, request, self._now, mint, gone, gone)
        if notices:
            self.notices.extend(notices)
        return reply

    def _answer_others(
        self, request: ListNames | ClaimAll | RecordRequest | BucketRequest
    ) -> Reply:
        if isinstance(request, ListNames):
            return self._listed(request)
        if isinstance(request, ClaimAll):
            return self._together(request)
        from holdfast.backends.sqlite import families  # locks alone do without

        memory = self._memory
        if not memory.has_families and self._connection.in_transaction:
            families.set_up(self._connection)
            memory.has_families = True
        return families.answer(self._connection, self._prefix, request)

    def _together(self, request: ClaimAll) -> Reply:
        records = {
            claim.name: self._after.get(claim.name) or self._loaded(claim.name)
            for claim in request.claims
        }
        living = self._memory.living
        gone = {one for record in records.values() for one in living.gone(record, self._now)}
        mint = time.time_ns() // 1000
        after, reply, notices = step_all(records, request, self._now, mint, gone, gone)
        self._after.update(after)
        self.notices.extend(notices)
        return reply

    def store(self) -> None:
        """Write what has changed."""
        for name, record in self._after.items():
            before = self._before[name]
            if before is None:
                if record.idle and not record.ended:
                    continue  # asked about, never used
                version = time.time_ns() // 1000  # never one that an earlier row of the name had
                row = to_row(record, version)
                self._execute(schema.INSERT, (*row, self._now, self._prefix, name))
                self._memory.remember(name, version, record, likely=True)
            elif record is not before.record:
                version = before.version + 1
                key = (self._now, self._prefix, name, before.version)
                self._execute(schema.UPDATE, (*to_row(record, version), *key))
                self._memory.remember(name, version, record, likely=before.likely)

    def _loaded(self, name: str) -> Record:
        row: Row | None = self._execute(schema.LOAD, (self._prefix, name)).fetchone()
        if row is None:
            self._before[name] = None
            floor = self._execute(schema.FLOOR).fetchone()
            return Record(name, last_token=floor[0] if floor else 0)
        known = self._memory.known.get(name)
        if known is not None and known.version == row[0]:
            known.likely = True  # nobody else was here since: next time one statement may do
        else:
            known = Known(row[0], from_row(name, row), likely=False)
        self._before[name] = known
        return known.record

    def _listed(self, request: ListNames) -> Seen:
        start = request.prefix
        after_all = start + "\U0010ffff" * NAME_LIMIT  # no name that begins with it comes later
        bounds = (self._prefix, request.after, start, after_all, request.limit)
        found = []
        for name, *row in self._execute(schema.PAGE, bounds):
            record = from_row(name, tuple(row))
            found.append(view(record, self._now, self._memory.living.gone(record, self._now)))
        return Seen(tuple(found))
