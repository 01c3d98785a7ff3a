"""A model server: the rule over records, with a birth mark, a quarantine and a memory to lose.

It answers by ``rules.claim.step`` as ``backends.memory`` does, at its own clock's time, and tells
the inboxes it knows of. What it keeps across a restart is decided by whoever restarts it. The other
two families are beside it, in ``family_desk``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf
from typing import Protocol

from holdfast.errors import BackendUnavailable
from holdfast.rules import claim as rule
from holdfast.rules.holding import Grant, Record
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    Busy,
    Claim,
    ClaimRequest,
    Ended,
    ListNames,
    Notice,
    Reply,
    Request,
    Seen,
    Want,
)
from holdfast.rules.together import step_all
from holdfast.testing.sim.clocks import Clock
from holdfast.testing.sim.family_desk import FamilyDesk, FamilyWatching
from holdfast.testing.sim.plan import Host
from holdfast.testing.sim.scheduler import Scheduler
from holdfast.values import Holder

NOBODY = Holder("", "", 0)


class Inbox(Protocol):
    """Where a client hears notices."""

    open: bool

    def post(self, notice: Notice) -> None:
        """Send a notice on its way."""
        ...


class Watching(Protocol):
    """Who is told of everything that the server does."""

    @property
    def family(self) -> FamilyWatching:
        """Who is told of records and buckets."""
        ...

    def stepped(
        self,
        server: Server,
        request: Request,
        before: Record,
        after: Record,
        closed: Collection[str],
    ) -> None:
        """Note that a record was changed, while these inboxes were known to be closed."""
        ...

    def answered(self, request: Request, reply: Reply | BackendUnavailable) -> None:
        """Note an answer."""
        ...


class Server:
    """Answers one request at a time."""

    def __init__(self, host: Host, scheduler: Scheduler, watch: Watching) -> None:
        self.scheduler = scheduler
        self.clock = Clock(host.base, host.rate)
        self.wall = Clock(host.wall, host.rate)
        self.records: dict[str, Record] = {}
        self.inboxes: dict[str, Inbox] = {}
        self.gone: set[str] = set()
        self.down = False
        self.mark = 1
        self._marks = 1
        self._one_clock = host.one_clock
        self._quarantine = host.quarantine
        self._born_at = -inf
        self._snapshot: dict[str, Record] = {}
        self._watch = watch
        self.families = FamilyDesk(watch.family)

    def now(self) -> float:
        """Read the clock that leases run on."""
        clock = self.wall if self._one_clock else self.clock
        return clock.base + clock.rate * self.scheduler.time

    def answer(self, request: Request) -> Reply | BackendUnavailable:
        """Carry out one request."""
        now = self.now()
        held_back = 0.0 if self.mark else self._held_back(now)
        if not isinstance(request, CLAIM_REQUESTS):
            if isinstance(request, ListNames):
                return self._listed(request, now)
            if isinstance(request, ClaimAll):
                # In quarantine one by one they can wait for its end.
                return Apart() if held_back > 0 else self._answer_all(request, now)
            return self.families.answer(request, self._mint())
        record = self.records.get(request.name)
        if record is None:
            record = Record(request.name)
        if held_back > 0:
            return self._answer_held_back(record, request, now, now + held_back)
        closed = self._closed(record) if record.queue else ()
        after, reply, notices = rule.step(record, request, now, self._mint(), closed, self.gone)
        if after is not record:
            self.records[request.name] = after
            self._watch.stepped(self, request, record, after, closed)
            self._post(notices)
        if type(reply) is Ended:
            self._watch.answered(request, reply)
        return reply

    def _answer_all(self, request: ClaimAll, now: float) -> Reply:
        records = {
            claim.name: self.records.get(claim.name) or Record(claim.name)
            for claim in request.claims
        }
        closed = {inbox for record in records.values() for inbox in self._closed(record)}
        after, reply, notices = step_all(records, request, now, self._mint(), closed, self.gone)
        for name, record in after.items():
            if record is not records[name]:
                self.records[name] = record
                self._watch.stepped(self, request, records[name], record, closed)
        self._post(notices)
        return reply

    def _post(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            inbox = self.inboxes.get(notice.inbox)
            if inbox is not None:
                inbox.post(notice)

    def _mint(self) -> int:
        """Read the wall clock in microseconds."""
        return int((self.wall.base + self.wall.rate * self.scheduler.time) * 1e6)

    def restart(self, memory: str) -> None:
        """Come back with all of the memory, without it, or as it was at the last snapshot."""
        self.down = False
        self._born_at = self.now()
        if memory == "forget":
            self.records = {}
            self.families = FamilyDesk(self._watch.family)
            self.mark = 0
        elif memory == "rollback":
            self.records = dict(self._snapshot)

    def take_snapshot(self) -> None:
        """Remember everything as it is now."""
        self._snapshot = dict(self.records)

    def _held_back(self, now: float) -> float:
        """Say how long nothing may be granted: a young server without a mark has forgotten."""
        left = self._born_at + self._quarantine - now
        if left <= 0:
            self._marks += 1
            self.mark = self._marks
        return left

    def _answer_held_back(
        self, record: Record, request: ClaimRequest, now: float, until: float
    ) -> Reply | BackendUnavailable:
        """Answer in quarantine: as if somebody held everything until it is over."""
        kind, capacity = record.kind, record.capacity
        if not record.queue and isinstance(request, Claim):
            kind, capacity = request.want.kind, request.want.capacity
        want = Want(kind, capacity, capacity, until - now)
        blocker = Grant("", want, NOBODY, "", 0, until, 0.0)
        blocked = record._replace(kind=kind, capacity=capacity, grants=(blocker,))
        after, reply, _ = rule.step(blocked, request, now, 0)
        if after is not blocked:
            after = after._replace(grants=())
            self.records[record.name] = after
            self._watch.stepped(self, request, record, after, ())
        self._watch.answered(request, reply)
        if isinstance(reply, Busy):
            return BackendUnavailable("in quarantine", backend="sim", transient=False)
        return reply

    def _closed(self, record: Record) -> Collection[str]:
        """Find out which of the waiters' inboxes are closed, as far as the server can know."""
        known = self.inboxes
        return {
            waiter.inbox
            for waiter in record.queue
            if waiter.inbox not in known or not known[waiter.inbox].open
        }

    def _listed(self, request: ListNames, now: float) -> Seen:
        names = [name for name in sorted(self.records) if name.startswith(request.prefix)]
        later = [name for name in names if name > request.after][: request.limit]
        return Seen(tuple(rule.view(self.records[name], now) for name in later))
