"""The rule and a real server side by side: everything is asked of both and has to come out equal.

Compared after every exchange: the replies, the notices in their order, and all that is stored.
Allowed to differ: the server may remember more than the newest 64 ids that ended (it cuts back at
times). ``doubtful`` names the ids for which that can show, and a test does not ask about those.

Times are multiples of 1/8 s, exact both as the rule's seconds and as the server's microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.backends.redis.replies import mark_of
from holdfast.backends.redis.requests import Asked, Letter, command
from holdfast.rules import tombstones
from holdfast.rules.claim import step
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    Claim,
    ClaimRequest,
    Notice,
    Renew,
    Reply,
)
from holdfast.rules.together import step_all
from tests.backends.redis.differential_record import DUMP, Stored, graves, lifeless, stored
from tests.backends.redis.differential_server import ServerSide, names_of
from tests.rules.scene import typed
from tests.servers.shared import SharedServer

DAY = 86_400_000
TOLD = 40
SLACK = 60_000
"""Milliseconds that a test may take: the server's own clock goes on meanwhile, and ends keys."""


class Stage(ServerSide):
    """One prefix on a server, and the rule's records of the same names."""

    def __init__(self, server: SharedServer, *, clustered: bool = False) -> None:
        super().__init__(server, clustered=clustered)
        self.steps = 0
        self._records: dict[str, Record] = {}
        self.stored: dict[str, Stored] = {}
        self._inboxes: set[str] = set()
        self._longest = 0.0
        self._mark = 0
        self._story: list[str] = []

    def record(self, name: str) -> Record:
        """Give the rule's record of a name."""
        return self._records.get(name) or Record(name)

    def ask(self, request: Asked) -> Reply:
        """Ask both one thing."""
        ((reply,),) = self.ask_all([self.post.letter(request)])
        return reply

    def ask_for_all(self, request: ClaimAll) -> None:
        """Ask both for several names in one step."""
        self.ask(request)

    def ask_together(self, requests: Sequence[ClaimRequest]) -> None:
        """Ask both many things, in as few letters as the server allows."""
        self.ask_all(self.bundled(requests))

    def ask_all(self, letters: Sequence[Letter]) -> list[list[Reply]]:
        """Send letters to the server, their requests to the rule, and compare all there is."""
        requests = [request for letter in letters for request in letter.requests]
        names = list(dict.fromkeys(name for request in requests for name in names_of(request)))
        before = [self.record(name) for name in names]
        expected, told = self._by_the_rule(requests)
        self.steps += len(requests)
        try:
            raw = self.send(letters, *map(self._dump, names))
            got = self.read(letters, raw[: len(letters)])
            _same("replies", [typed(one) for each in got for one in each], [*map(typed, expected)])
            _same("notices", self.heard(), told)
            for one in raw[: len(letters)]:
                self._is_the_mark(one)
            for name, one in zip(names, raw[len(letters) :], strict=True):
                self.stored[name] = stored(name, one)
                self._is_stored(name)
        except Exception as error:
            error.add_note("\n".join([*self._story[-TOLD:], "before the last:", *map(str, before)]))
            raise
        return got

    def doubtful(self, name: str) -> set[str]:
        """Name the ids that the rule has forgotten, or forgets in the next step."""
        if name not in self.stored:
            return set()
        record = self.record(name)
        ends = [(one.claim_id, one.ends_at) for one in record.grants]
        ends += [(one.claim_id, one.patience_until) for one in record.queue]
        lapsing = [claim_id for claim_id, until in ends if until <= self.now]
        sure = [*self._remembered(name), *lapsing][-tombstones.KEPT :]
        return {*self._living(self.stored[name].graves), *lapsing} - set(sure)

    def _by_the_rule(self, requests: list[Asked]) -> tuple[list[Reply], list[Notice]]:
        expected: list[Reply] = []
        told: list[Notice] = []
        for request in requests:
            self._note(request)
            closed = self._closed()
            reply, notices = self._step(request, closed)
            expected.append(reply)
            told.extend(one._replace(inbox=one.inbox.removesuffix("?")) for one in notices)
            deaf = f", closed {closed}" if closed else ""
            self._story.append(f"{self.now}{deaf}: {request}\n    -> {reply}")
        return expected, told

    def _step(self, request: Asked, closed: set[str]) -> tuple[Reply, tuple[Notice, ...]]:
        mint = round(self.now * 1_000_000)
        if isinstance(request, ClaimAll):
            before = {name: self.record(name) for name in names_of(request)}
            records, together, notices = step_all(before, request, self.now, mint, closed)
            self._records.update(records)
            return together, notices
        assert isinstance(request, CLAIM_REQUESTS)
        after, reply, notices = step(self.record(request.name), request, self.now, mint, closed)
        self._records[request.name] = after
        return reply, notices

    def _closed(self) -> set[str]:
        """Name the inboxes that are known to be closed; a question mark says "not known yet"."""
        known = {inbox for inbox in self._inboxes if inbox and not inbox.endswith("?")}
        return known - self.listening

    def _note(self, request: Asked) -> None:
        """Remember the inboxes that there are and the longest life that was asked for."""
        if isinstance(request, ClaimAll):
            for claim in request.claims:
                self._note(claim)
        if isinstance(request, Claim):
            self._inboxes.add(request.inbox)
            self._longest = max(self._longest, request.want.ttl)
        elif isinstance(request, Renew):
            self._longest = max([self._longest, *(item.ttl for item in request.items)])

    def _dump(self, name: str) -> bytes:
        return command("EVAL", DUMP, 5, *self.post.keys.of(name).all)

    def _is_the_mark(self, raw: bytes | list[Any]) -> None:
        """See that every reply carries the birth mark: the time of the first step."""
        if not self._mark and not self.post.clustered:
            self._mark = round(self.now * 1_000_000)
        parts: list[Any] = [raw] if isinstance(raw, bytes) or isinstance(raw[0], int) else raw
        for one in parts:
            _same("birth marks", mark_of(one), self._mark)

    def _is_stored(self, name: str) -> None:
        found, record = self.stored[name], self.record(name)
        _same("records", found.record, record._replace(ended="", grants=lifeless(record.grants)))
        remembered, expected = self._living(found.graves), self._remembered(name)
        if record.ended.count(";") >= tombstones.KEPT:
            remembered = {one: how for one, how in remembered.items() if one in expected}
        _same("tombstones", [*remembered.items()], [*expected.items()])
        self._goes_in_time(found)

    def _goes_in_time(self, found: Stored) -> None:
        """See that every key has an end, and none before what it keeps."""
        of_record, of_graves, *of_queue = found.lives
        ends = max([0.0, *(grant.ends_at - self.now for grant in found.record.grants)])
        if of_record != -2:
            assert ends * 1000 + DAY - SLACK <= of_record <= self._longest * 1000 + DAY + 1
        if found.graves:
            assert found.buried_until >= max(until for _, _, until in found.graves)
            assert (found.buried_until - self.now) * 1000 - SLACK <= of_graves <= 120_000
            assert of_graves > 0
        gone = of_queue == [-2, -2, -2]
        assert gone or all(DAY - SLACK <= one <= DAY for one in of_queue)

    def _living(self, buried: tuple[tuple[str, Any, float], ...]) -> dict[str, str]:
        return {claim_id: how for claim_id, how, until in buried if until > self.now}

    def _remembered(self, name: str) -> dict[str, str]:
        return self._living(graves(self.record(name).ended))


def _same(what: str, got: object, expected: object) -> None:
    assert got == expected, f"other {what}: the rule says\n{expected}\nand the server\n{got}"
