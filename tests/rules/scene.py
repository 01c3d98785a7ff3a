"""One name on a stage: a record, a clock that only the test moves, and what was said so far.

Support for the tests of ``rules.claim``; nothing here knows what the rule should decide. A claim of
the short example tests is named after its client: claim "ann" belongs to client "ann", whose
inbox is "ann" too.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules.claim import step
from holdfast.rules.holding import Grant, Record, Waiter
from holdfast.rules.messages import (
    Advance,
    Break,
    Claim,
    ClaimRequest,
    Ended,
    Granted,
    Item,
    Look,
    Notice,
    Release,
    Renew,
    Renewed,
    Reply,
    Seen,
    Waiting,
    Want,
    Withdraw,
)
from holdfast.values import Holder, Kind, LockInfo

NAME = "orders:42"


class Moment(NamedTuple):
    """One step with all that went in and all that came out."""

    before: Record
    request: ClaimRequest
    now: float
    mint: int
    closed: frozenset[str]
    gone: frozenset[str]
    after: Record
    reply: Reply
    notices: tuple[Notice, ...]

    def __str__(self) -> str:
        news = f", told {self.notices}" if self.notices else ""
        deaf = f", closed {set(self.closed)}" if self.closed else ""
        dead = f", gone {set(self.gone)}" if self.gone else ""
        return f"{self.now} mint {self.mint}{deaf}{dead}: {self.request}\n    -> {self.reply}{news}"


class Scene:
    """Ask the rule one thing after another."""

    def __init__(self, kind: Kind = "lock", capacity: int = 1) -> None:
        self.kind: Kind = kind
        self.capacity = capacity
        self.record = Record(NAME)
        self.now = 1000.0
        self.mint = 5_000_000
        self.closed: set[str] = set()
        self.gone: set[str] = set()
        self.notices: tuple[Notice, ...] = ()

    def ask(self, request: ClaimRequest) -> Moment:
        """Take one step; ``record`` and ``notices`` show afterwards what it made."""
        before, closed, gone = self.record, frozenset(self.closed), frozenset(self.gone)
        now, mint = self.now, self.mint
        made = step(before, request, now, mint, closed, gone)
        self.record, self.notices = made.record, made.notices
        return Moment(before, request, now, mint, closed, gone, *made)

    def claim(
        self,
        claim_id: str,
        *,
        weight: int = 1,
        ttl: float = 10.0,
        patience: float = 0.0,
        seen_token: int = 0,
        detached: bool = False,
    ) -> Reply:
        """Claim the name for the client of the same name."""
        want = Want(
            kind=self.kind, capacity=self.capacity, weight=weight, ttl=ttl, detached=detached
        )
        holder = Holder(claim_id, "host", 1)
        return self.ask(Claim(NAME, claim_id, want, holder, claim_id, patience, seen_token)).reply

    def take(self, claim_id: str, *, weight: int = 1, ttl: float = 10.0) -> Granted:
        """Claim what is known to be free."""
        reply = self.claim(claim_id, weight=weight, ttl=ttl)
        assert isinstance(reply, Granted)
        return reply

    def join(
        self, claim_id: str, *, weight: int = 1, ttl: float = 10.0, patience: float = 60.0
    ) -> Waiting:
        """Claim what is known to be taken, and wait."""
        reply = self.claim(claim_id, weight=weight, ttl=ttl, patience=patience)
        assert isinstance(reply, Waiting)
        return reply

    def renew(
        self, claim_id: str, token: int = 0, ttl: float = 10.0, patience: float = 3.0
    ) -> Granted | Waiting | Ended:
        """Renew one claim."""
        reply = self.ask(Renew(NAME, (Item(claim_id, token, ttl, patience),))).reply
        assert isinstance(reply, Renewed)
        return reply.answers[0]

    def release(self, claim_id: str) -> Reply:
        """Give a lease back."""
        return self.ask(Release(NAME, claim_id)).reply

    def withdraw(self, claim_id: str) -> Reply:
        """End a claim whatever became of it."""
        return self.ask(Withdraw(NAME, claim_id)).reply

    def advance(self, claim_id: str = "nobody") -> Reply:
        """Move the queue on."""
        return self.ask(Advance(NAME, claim_id)).reply

    def break_(self, token: int, *, reason: str = "stuck", force: bool = False) -> Reply:
        """Break the grant with this token."""
        return self.ask(Break(NAME, token, reason, force)).reply

    def look(self) -> LockInfo:
        """Show the name."""
        reply = self.ask(Look(NAME)).reply
        assert isinstance(reply, Seen)
        return reply.locks[0]

    @property
    def holding(self) -> list[str]:
        """The claims that hold, in the order of their grants."""
        return [grant.claim_id for grant in self.record.grants]

    @property
    def waiting(self) -> list[str]:
        """The claims that wait, in the order of the queue."""
        return [waiter.claim_id for waiter in self.record.queue]

    @property
    def told(self) -> list[tuple[str, str]]:
        """Who was told what by the last step."""
        return [(notice.inbox, notice.what) for notice in self.notices]


def grants_of(record: Record) -> dict[str, Grant]:
    """Give the grants by claim id."""
    return {grant.claim_id: grant for grant in record.grants}


def waiters_of(record: Record) -> dict[str, Waiter]:
    """Give the waiters by claim id, in the order of the queue."""
    return {waiter.claim_id: waiter for waiter in record.queue}


def typed(reply: Reply) -> tuple[object, ...]:
    """Give a reply with its type: to ``==`` named tuples of different types may be the same."""
    answers = reply.answers if isinstance(reply, Renewed) else ()
    return (type(reply), *map(type, answers), reply)


def asking(request: ClaimRequest) -> frozenset[str]:
    """Name the claims that the asker will hear of in the reply itself."""
    match request:
        case Claim() | Advance():
            return frozenset({request.claim_id})
        case Renew():
            return frozenset(item.claim_id for item in request.items)
        case Release() | Withdraw() | Break() | Look():
            return frozenset()
