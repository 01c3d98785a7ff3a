"""The rules for records and buckets beside a real server: all is asked of both and must be equal.

Compared after every step: the reply, the birth mark, what is stored, and when it will go. The
scripts are the shipped ones but for two lines: they read the test's clock, and what they write
lives a day longer, because the server's own clock goes on while the test's stands still.
"""

from __future__ import annotations

import os
import re
from functools import cache
from hashlib import sha1
from typing import Any, Self

from holdfast.backends.redis import replies
from holdfast.backends.redis.requests import Letter, Post, command
from holdfast.backends.redis.scripts import script
from holdfast.rules import bucket, record
from holdfast.rules.bucket import Bucket
from holdfast.rules.bucket_messages import BucketReply, BucketRequest, Terms
from holdfast.rules.record import REMEMBERED_FOR, Kept
from holdfast.rules.record_messages import RecordReply, RecordRequest
from tests.backends.redis.differential_line import Line
from tests.backends.redis.differential_server import _ASKS_THE_TIME, _CLOCK, _READS_THE_CLOCK
from tests.rules.scene import typed
from tests.servers.scope import Scoped
from tests.servers.shared import SharedServer

SCRIPTS = ("record_get", "record_swap", "bucket_take", "bucket_give_back")
DAY = 86_400_000
SLACK = 60_000
"""Milliseconds that a test may take: the server's own clock goes on meanwhile, and ends keys."""

TOLD = 30

DUMP = """
local is_record = KEYS[1]:sub(-6) == 'record'
local read = is_record and {'HGET', KEYS[1], 'kept'} or {'GET', KEYS[1]}
local stored = redis.call(unpack(read))
local cells = stored and cmsgpack.unpack(stored)
if stored and is_record then
    local value = redis.call('HGET', KEYS[1], 'value')
    assert(cells[3] == (value ~= false))
    cells[3] = value
end
return {cells, redis.call('PTTL', KEYS[1])}
"""


class FamilyStage(Scoped):
    """One prefix on a server, and the rules' own records and buckets of the same names."""

    def __init__(self, server: SharedServer, *, clustered: bool = False) -> None:
        self.post = Post(f"t{{{os.urandom(6).hex()}}}%", 0.0, clustered=clustered)
        self.line = Line(server)
        self.held_back = 0.0
        self.steps = 0
        self._records: dict[str, Kept] = {}
        self._buckets: dict[str, Bucket | None] = {}
        self._written_at: dict[str, int] = {}
        self._keys: set[bytes] = set()
        self._mark = 0
        self._story: list[str] = []

    def start(self) -> Self:
        """Connect, and make the server know the scripts."""
        self.line.start()
        self.line.exchange([command("SCRIPT", "LOAD", _clocked(one)[0]) for one in SCRIPTS])
        return self

    def close(self) -> None:
        """Leave nothing on the server."""
        try:
            self.line.ask("DEL", _CLOCK, self.post.keys.birth, *self._keys)
        finally:
            self.line.close()

    def ask_record(self, request: RecordRequest, now: int) -> RecordReply:
        """Ask both one thing of a record."""
        before = self._records.get(request.name, Kept())
        after, expected = record.step(before, request, now)
        self._records[request.name] = after
        cells, lives = self._ask(request, now, expected, before, written=after is not before)
        _same("records", _kept(cells), after)
        if after.ends_at is None:
            assert lives in {-1, -2}, "what should stay has an end"
        else:
            since = self._written_at[request.name]
            self._goes_in_time(lives, after.ends_at + REMEMBERED_FOR - since)
        return expected

    def ask_bucket(self, request: BucketRequest, now: int) -> BucketReply:
        """Ask both one thing of a bucket."""
        before = self._buckets.get(request.name)
        spent = self.held_back > 0
        after, expected = bucket.step(before, request, now, spent=spent)
        self._buckets[request.name] = after
        cells, lives = self._ask(request, now, expected, before, written=after is not before)
        _same("buckets", _bucket(cells), after)
        if after is not None:
            self._goes_in_time(lives, after.empty_at - after.at)
        return expected

    def _ask(
        self,
        request: RecordRequest | BucketRequest,
        now: int,
        expected: RecordReply | BucketReply,
        before: object,
        *,
        written: bool,
    ) -> tuple[Any, int]:
        """Ask the server, compare the reply, and give what is stored there now."""
        self.steps += 1
        if written:
            self._written_at[request.name] = now
        self._story.append(f"{now}: {request!s:.300}\n    -> {expected!s:.300}")
        letter = self.post.letter(request, self.held_back)
        key = self.post.keys.of_family(
            letter.script.name.partition("_")[0], request.space, request.name
        )
        self._keys.add(key)
        clock = command(
            "HSET", _CLOCK, "seconds", now // 1_000_000, "microseconds", now % 1_000_000
        )
        dump = command("EVAL", DUMP, 1, key)
        try:
            _, raw, stored = self.line.exchange([clock, _clocked_data(letter), dump])
            _same("replies", typed(replies.read(request, raw)), typed(expected))
            self._is_the_mark(raw[0], now)
        except Exception as error:
            error.add_note("\n".join([*self._story[-TOLD:], f"before the last: {before!s:.3000}"]))
            raise
        return stored[0], stored[1]

    def _is_the_mark(self, mark: int, now: int) -> None:
        """See that every reply carries the birth mark: the time of the first step."""
        if not self._mark and not self.post.clustered:
            self._mark = now
        _same("birth marks", mark, self._mark)

    def _goes_in_time(self, lives: int, wanted: int) -> None:
        """See that a key goes when it is not needed any more, and not before."""
        least = max(wanted, 0) / 1000
        most = max(wanted / 1000, self.held_back * 1000) + 2
        assert least - SLACK <= lives - DAY <= most, f"{lives - DAY} instead of {wanted / 1000}"


def _kept(cells: Any) -> Kept:
    if cells is None:
        return Kept()
    form, version, value, ends_at, fence, swaps, dropped = cells
    assert form == record.FORMAT
    return Kept(version, value, ends_at, fence, swaps.decode(), dropped)


def _bucket(cells: Any) -> Bucket | None:
    if cells is None:
        return None
    form, amount, period, burst, owed, at, takes = cells
    assert form == bucket.FORMAT
    return Bucket(Terms(amount, period, burst), owed, at, takes.decode())


def _same(what: str, got: object, expected: object) -> None:
    assert got == expected, f"other {what}: the rule says\n{expected}\nand the server\n{got}"


@cache
def _clocked(name: str) -> tuple[bytes, bytes]:
    """Give a script that reads the test's clock and writes for a day longer: text and hash."""
    text = script(name).body.decode()
    assert text.count(_ASKS_THE_TIME) == 1
    text = text.replace(_ASKS_THE_TIME, _READS_THE_CLOCK)
    ends = r"(packed, 'PX'|cmsgpack\.pack\(bucket\), 'PX'|'PEXPIRE', KEYS\[1\]), (?!0)"
    text = re.sub(ends, rf"\g<0>{DAY} + ", text)
    body = text.encode()
    return body, sha1(body, usedforsecurity=False).hexdigest().encode()


def _clocked_data(letter: Letter) -> bytes:
    assert letter.data.count(letter.script.sha) == 1
    return letter.data.replace(letter.script.sha, _clocked(letter.script.name)[1])
