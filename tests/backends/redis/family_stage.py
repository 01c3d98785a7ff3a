"""The rules for records and buckets beside a real server: all is asked of both and must be equal.

Compared after every step: the reply, the birth mark, what is stored, and when it will go. The
scripts are the shipped ones but for two lines: they read the test's clock, and what they write
lives a day longer, because the server's own clock goes on while the test's stands still.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from typing import Any, Self

from holdfast.backends.redis import replies
from holdfast.backends.redis.calls import Bundle
from holdfast.backends.redis.requests import Letter, Post, command
from holdfast.backends.redis.scripts import script
from holdfast.backends.redis.takes import Takes
from holdfast.rules import bucket, record
from holdfast.rules.bucket import Bucket
from holdfast.rules.bucket_messages import BucketReply, BucketRequest, Take, Terms
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
local cells = false
if KEYS[1]:sub(-6) == 'record' then
    local stored = redis.call('HGET', KEYS[1], 'kept')
    local value = redis.call('HGET', KEYS[1], 'value')
    cells = stored and cmsgpack.unpack(stored)
    assert(not cells or cells[3] == (value ~= false))
    if cells then
        cells[3] = value
    end
else
    local stored = redis.call('GET', KEYS[1])
    cells = stored and {struct.unpack('<Bddddd', stored)}
    if cells then
        cells[7] = stored:sub(cells[7])
    end
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
        expected, written = self._step(request, now)
        cells, lives = self._ask(request, now, expected, before, written=written)
        self._is_the_bucket(request.name, cells, lives)
        return expected

    def ask_takes(self, takes: Sequence[Take], now: int) -> None:
        """Ask the server for all of these in one command, and the rule for one after the other."""
        befores = {take.name: self._buckets.get(take.name) for take in takes}
        expected = [self._step(take, now)[0] for take in takes]
        self.steps += len(takes)
        self._story.append(f"{now}: in one command")
        self._story += map("    {!s:.200}\n    -> {!s:.100}".format, takes, expected)
        command_, keys = self._written(takes)
        dumps = [command("EVAL", DUMP, 1, key) for key in keys.values()]
        with self._telling(befores):
            _, raw, *stored = self.line.exchange([_set_to(now), command_, *dumps])
            raws = raw if len(takes) > 1 else [raw]
            answers = [
                typed(replies.read(take, one)) for take, one in zip(takes, raws, strict=True)
            ]
            _same("replies", answers, [typed(one) for one in expected])
            for one in raws:
                self._is_the_mark(replies.mark_of(one), now)
            for name, (cells, lives) in zip(keys, stored, strict=True):
                self._is_the_bucket(name, cells, lives)

    def _written(self, takes: Sequence[Take]) -> tuple[bytes, dict[str, bytes]]:
        """Write one command for all, as a line for tasks does; give the keys by their names too."""
        birth = () if self.post.clustered else (self.post.keys.birth,)
        wrapped = Takes(self.post.keys, birth, b"%d" % (self.held_back * 1e6))
        parcels = [parcel for take in takes if (parcel := wrapped.parcel(take)) is not None]
        bundle = Bundle(parcels[0][0])
        for call, key, words in parcels:
            assert call is bundle.call
            bundle.keys.append(key)
            bundle.words.append(words)
        keys = {
            take.name: self.post.keys.of_family("bucket", take.space, take.name) for take in takes
        }
        self._keys.update(keys.values())
        shipped = bundle.call.script
        return bundle.written().replace(shipped.sha, _clocked(shipped.name)[1]), keys

    def _step(self, request: BucketRequest, now: int) -> tuple[BucketReply, bool]:
        """Ask the rule; say also whether the bucket was changed."""
        before = self._buckets.get(request.name)
        after, reply = bucket.step(before, request, now, spent=self.held_back > 0)
        self._buckets[request.name] = after
        return reply, after is not before

    def _is_the_bucket(self, name: str, cells: Any, lives: int) -> None:
        """See that the server has what the rule has, for as long as it should."""
        expected = self._buckets[name]
        _same("buckets", _bucket(cells), expected)
        if expected is not None:
            self._goes_in_time(lives, expected.empty_at - expected.at)

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
        dump = command("EVAL", DUMP, 1, key)
        with self._telling(before):
            _, raw, stored = self.line.exchange([_set_to(now), _clocked_data(letter), dump])
            _same("replies", typed(replies.read(request, raw)), typed(expected))
            self._is_the_mark(replies.mark_of(raw), now)
        return stored[0], stored[1]

    @contextmanager
    def _telling(self, before: object) -> Iterator[None]:
        """Tell the history along with whatever goes wrong."""
        try:
            yield
        except Exception as error:
            error.add_note("\n".join([*self._story[-TOLD:], f"before the last: {before!s:.3000}"]))
            raise

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


def _set_to(now: int) -> bytes:
    return command("HSET", _CLOCK, "seconds", now // 1_000_000, "microseconds", now % 1_000_000)


@cache
def _clocked(name: str) -> tuple[bytes, bytes]:
    """Give a script that reads the test's clock and writes for a day longer: text and hash."""
    text = script(name).body.decode()
    assert text.count(_ASKS_THE_TIME) == 1
    text = text.replace(_ASKS_THE_TIME, _READS_THE_CLOCK)
    ends = r"((packed|takes|rest\)), 'PX'|'PEXPIRE', (KEYS\[1\]|key)), (?!0)"
    text = re.sub(ends, rf"\g<0>{DAY} + ", text)
    body = text.encode()
    return body, sha1(body, usedforsecurity=False).hexdigest().encode()


def _clocked_data(letter: Letter) -> bytes:
    assert letter.data.count(letter.script.sha) == 1
    return letter.data.replace(letter.script.sha, _clocked(letter.script.name)[1])
