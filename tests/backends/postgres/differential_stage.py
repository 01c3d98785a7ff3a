"""The rule and a real server side by side: everything is asked of both and has to come out equal.

Compared after every statement: the replies, the notices in their order, the birth mark, and all
that is stored. Times are multiples of 1/8 s, exact as the rule's seconds and as microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.postgres.requests import Statement
from holdfast.rules import tombstones
from holdfast.rules.claim import step
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import CLAIM_REQUESTS, Claim, ClaimRequest, Notice, Reply
from tests.backends.postgres.differential_record import stored
from tests.backends.postgres.differential_server import SCHEMA, ServerSide
from tests.rules.scene import typed
from tests.servers.shared_postgres import SharedPostgres

TOLD = 40


class Stage(ServerSide):
    """One prefix on a server, and the rule's records of the same names."""

    def __init__(self, server: SharedPostgres) -> None:
        super().__init__(server)
        self.steps = 0
        self._records: dict[str, Record] = {}
        self._inboxes: set[str] = set()
        self._mark = 0
        self._story: list[str] = []

    def record(self, name: str) -> Record:
        """Give the rule's record of a name."""
        return self._records.get(name) or Record(name)

    def doubtful(self, name: str) -> set[str]:  # noqa: ARG002 - the shape of a stage
        """Give none: this server forgets what the rule forgets."""
        return set()

    def ask(self, request: ClaimRequest) -> Reply:
        """Ask both one thing."""
        (reply,) = self._ask(self.post.statement(request))
        return reply

    def ask_for_all(self, request: ClaimAll) -> None:
        """Do nothing: here several names are claimed one by one."""

    def ask_together(self, requests: Sequence[ClaimRequest]) -> None:
        """Ask both many things, in one statement."""
        for statement in self.post.statements(list(enumerate(requests))):
            self._ask(statement)

    def _ask(self, statement: Statement) -> list[Reply]:
        requests = [one for one in statement.requests if isinstance(one, CLAIM_REQUESTS)]
        names = list(dict.fromkeys(request.name for request in requests))
        before = [self.record(name) for name in names]
        expected, told = self._by_the_rule(requests)
        self.steps += len(requests)
        try:
            raw = self.send(statement)
            got = self.read(statement, raw)
            _same("replies", [*map(typed, got)], [*map(typed, expected)])
            _same("notices", self.notices(len(told)), told)
            for one in raw:
                self._is_the_mark(one[0])
            for name in names:
                self._is_stored(name)
        except Exception as error:
            error.add_note("\n".join([*self._story[-TOLD:], "before the last:", *map(str, before)]))
            raise
        return got

    def _by_the_rule(self, requests: list[ClaimRequest]) -> tuple[list[Reply], list[Notice]]:
        expected: list[Reply] = []
        told: list[Notice] = []
        for request in requests:
            if isinstance(request, Claim):
                self._inboxes.add(request.inbox)
            closed = self._closed()
            before, mint = self.record(request.name), round(self.now * 1_000_000)
            after, reply, notices = step(before, request, self.now, mint, closed)
            self._records[request.name] = after
            expected.append(reply)
            told.extend(one._replace(inbox=one.inbox.removesuffix("?")) for one in notices)
            deaf = f", closed {closed}" if closed else ""
            self._story.append(f"{self.now}{deaf}: {request}\n    -> {reply}")
        return expected, told

    def _closed(self) -> set[str]:
        """Name the inboxes that are known to be closed; a question mark says "not known yet"."""
        known = {inbox for inbox in self._inboxes if inbox and not inbox.endswith("?")}
        return known - self.listening

    def _is_the_mark(self, mark: int) -> None:
        self._mark = self._mark or mark
        _same("birth marks", mark, self._mark)

    def _is_stored(self, name: str) -> None:
        found, record = stored(self.rows, SCHEMA, self.prefix, name), self.record(name)
        _same("records", found._replace(ended=""), record._replace(ended=""))
        living = tombstones.prune(found.ended, self.now)
        _same("tombstones", living, tombstones.prune(record.ended, self.now))


def _same(what: str, got: object, expected: object) -> None:
    assert got == expected, f"other {what}: the rule says\n{expected}\nand the server\n{got}"
