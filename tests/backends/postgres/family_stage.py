"""The rules for records and buckets beside a real server: all is asked of both and must be equal.

Compared after every step: the reply, the birth mark, what is stored, and when it may go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.rules import bucket, record
from holdfast.rules.bucket import Bucket
from holdfast.rules.bucket_messages import BucketReply, BucketRequest, Terms
from holdfast.rules.record import REMEMBERED_FOR, Kept
from holdfast.rules.record_messages import RecordReply, RecordRequest
from tests.backends.postgres.differential_server import SCHEMA, ServerSide
from tests.rules.scene import typed
from tests.servers.shared_postgres import SharedPostgres

TOLD = 30
HOUR = 3_600_000_000


class FamilyStage(ServerSide):
    """One prefix on a server, and the rules' own records and buckets of the same names."""

    def __init__(self, server: SharedPostgres) -> None:
        super().__init__(server)
        self.steps = 0
        self._records: dict[str, Kept] = {}
        self._buckets: dict[str, Bucket | None] = {}
        self._mark = 0
        self._story: list[str] = []

    def ask_record(self, request: RecordRequest, now: int) -> RecordReply:
        """Ask both one thing of a record."""
        before = self._records.get(request.name, Kept())
        after, expected = record.step(before, request, now)
        self._records[request.name] = after
        self._ask(request, now, expected, before)
        rows = self._stored("version, value, ends_at, fence, swaps, dropped, forget_on", request)
        *cells, forget_on = rows[0] if rows else (*Kept(), None)
        _same("records", Kept(*cells), after)
        if after.ends_at is None:
            assert forget_on is None, "what should stay has an end"
        else:
            assert forget_on == (after.ends_at + REMEMBERED_FOR) // HOUR
        for name in self._missing("records") - {request.name}:
            ends_at = self._records.pop(name).ends_at
            assert ends_at is not None
            assert (ends_at + REMEMBERED_FOR) // HOUR < now // HOUR, "it went too early"
        return expected

    def ask_bucket(self, request: BucketRequest, now: int) -> BucketReply:
        """Ask both one thing of a bucket."""
        before = self._buckets.get(request.name)
        after, expected = bucket.step(before, request, now)
        self._buckets[request.name] = after
        self._ask(request, now, expected, before)
        rows = self._stored("amount, period, burst, owed, at, takes, forget_on", request)
        for name in self._missing("buckets") - {request.name}:
            gone = self._buckets.pop(name)
            assert gone is None or gone.empty_at // HOUR < now // HOUR, "it went too early"
        if not rows:
            _same("buckets", None, after)
            return expected
        *terms, owed, at, takes, forget_on = rows[0]
        _same("buckets", Bucket(Terms(*terms), owed, at, takes), after)
        assert after is not None
        assert after.empty_at // HOUR < forget_on
        return expected

    def _ask(
        self,
        request: RecordRequest | BucketRequest,
        now: int,
        expected: RecordReply | BucketReply,
        before: object,
    ) -> None:
        """Ask the server, and compare the reply."""
        self.steps += 1
        self.now = now / 1e6
        self._story.append(f"{now}: {request}\n    -> {expected}")
        statement = self.post.statement(request)
        try:
            raw = self.send(statement)
            (got,) = self.read(statement, raw)
            _same("replies", typed(got), typed(expected))
            self._mark = self._mark or raw[0][0]
            _same("birth marks", raw[0][0], self._mark)
        except Exception as error:
            error.add_note("\n".join([*self._story[-TOLD:], f"before the last: {before}"]))
            raise

    def _missing(self, table: str) -> set[str]:
        """Name what the server has forgotten, which it may once it is over, and the rule has not.

        It matters only if the clock is set back after that: then the rule has to forget it too.
        """
        rows = self.rows(f"SELECT name FROM {SCHEMA}.{table} WHERE prefix = %s", self.prefix)  # noqa: S608
        known: Mapping[str, object] = self._records if table == "records" else self._buckets
        kept = {name for name, one in known.items() if one not in {None, Kept()}}
        return kept - {name for (name,) in rows}

    def _stored(
        self, columns: str, request: RecordRequest | BucketRequest
    ) -> list[tuple[Any, ...]]:
        table = "buckets" if columns.startswith("amount") else "records"
        return self.rows(
            f"SELECT {columns} FROM {SCHEMA}.{table}"  # noqa: S608 - constants
            " WHERE prefix = %s AND space = %s AND name = %s",
            self.prefix,
            request.space,
            request.name,
        )


def _same(what: str, got: object, expected: object) -> None:
    assert got == expected, f"other {what}: the rule says\n{expected}\nand the server\n{got}"
