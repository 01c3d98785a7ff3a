"""What a simple observer of one name writes down: who ended, who got which token, who believes.

It sees requests, replies and notices and compares records before and after; it never calls the
rule. ``promises`` asks it questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.rules.holding import Grant, Waiter
from holdfast.rules.messages import (
    Break,
    Claim,
    Ended,
    Ending,
    Granted,
    Look,
    Release,
    Renewed,
    Withdraw,
)
from tests.rules.scene import Moment, grants_of

REMEMBERED_FOR = 60.0
REMEMBERED = 64


@dataclass
class Belief:
    """A client that thinks it holds, because it was told so."""

    client: str
    weight: int
    token: int
    until: float
    detached: bool


@dataclass
class Ledger:
    """The observer's notes; ``write`` adds one step to them."""

    claims: dict[str, Claim] = field(default_factory=dict)
    graves: dict[str, tuple[Ending, float]] = field(default_factory=dict)
    beliefs: dict[str, Belief] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    """The token of every claim that was ever granted, in the order of the grants."""

    def write(self, moment: Moment) -> None:
        """Note what has happened; called before the promises are checked."""
        if isinstance(moment.request, Claim):
            self._note_claim(moment, moment.request)
        self._bury(moment)
        for claim_id, grant in grants_of(moment.after).items():
            self.tokens.setdefault(claim_id, grant.token)
        self._disbelieve(moment)
        self._believe(moment)

    def _note_claim(self, moment: Moment, claim: Claim) -> None:
        """Keep the first of a claim's copies; one that still waits may have seen more meanwhile."""
        first = self.claims.setdefault(claim.claim_id, claim)
        if any(waiter.claim_id == claim.claim_id for waiter in moment.after.queue):
            seen = max(first.seen_token, claim.seen_token)
            self.claims[claim.claim_id] = first._replace(seen_token=seen)

    def _bury(self, moment: Moment) -> None:
        now, request = moment.now, moment.request
        self.graves = {one: grave for one, grave in self.graves.items() if now < grave[1]}
        ended = endings(moment)
        if isinstance(request, Withdraw) and request.claim_id not in self.graves:
            ended.setdefault(request.claim_id, "withdrawn")
        for claim_id, how in ended.items():
            self.graves[claim_id] = (how, now + REMEMBERED_FOR)
        for oldest in list(self.graves)[:-REMEMBERED]:
            del self.graves[oldest]

    def _disbelieve(self, moment: Moment) -> None:
        """Forget the beliefs of the dead, of those who let go and of those who were overruled."""
        request = moment.request
        if isinstance(request, Release | Withdraw):
            self.beliefs.pop(request.claim_id, None)
        for claim_id, belief in list(self.beliefs.items()):
            dead = belief.client in moment.gone and not belief.detached
            forced = isinstance(request, Break) and request.force and request.token == belief.token
            if dead or forced or belief.until <= moment.now:
                del self.beliefs[claim_id]

    def _believe(self, moment: Moment) -> None:
        """Let those who were told that they hold believe it, for as long as they were told."""
        replies = moment.reply.answers if isinstance(moment.reply, Renewed) else (moment.reply,)
        for reply in replies:
            if isinstance(reply, Granted):
                self._trust(moment, reply.claim_id, reply.token, reply.remaining)
            elif isinstance(reply, Ended) and reply.how != "unknown":
                self.beliefs.pop(reply.claim_id, None)
        for notice in moment.notices:
            if notice.what == "granted" and notice.inbox not in moment.closed:
                self._trust(moment, notice.claim_id, notice.token, notice.life)

    def _trust(self, moment: Moment, claim_id: str, token: int, life: float) -> None:
        claim = self.claims[claim_id]
        client, want = claim.holder.client, claim.want
        if client not in moment.gone:
            until = moment.now + life
            self.beliefs[claim_id] = Belief(client, want.weight, token, until, want.detached)


def endings(moment: Moment) -> dict[str, Ending]:
    """Say what had to end in this step, and how; what ended first is first."""
    if isinstance(moment.request, Look):
        return {}
    before = moment.before
    ended = [(one.claim_id, _grant_ends(moment, one)) for one in before.grants]
    ended += [(one.claim_id, _waiter_ends(moment, one)) for one in before.queue]
    return {claim_id: how for claim_id, how in ended if how is not None}


def was_over(moment: Moment, grant: Grant) -> bool:
    """Whether a grant had ended before the request was looked at."""
    dead = grant.holder.client in moment.gone and not grant.want.detached
    return dead or grant.ends_at <= moment.now


def _grant_ends(moment: Moment, grant: Grant) -> Ending | None:
    """Say how a grant had to end: by death, by time, or else by what was asked."""
    how: Ending | None = None
    match moment.request:
        case Release(_, claim_id) if claim_id == grant.claim_id:
            how = "released"
        case Withdraw(_, claim_id) if claim_id == grant.claim_id:
            how = "withdrawn"
        case Break(_, token, _, force) if force and token == grant.token:
            how = "broken"
    if grant.ends_at <= moment.now:
        how = "broken" if grant.broken else "lapsed"
    return "gone" if grant.holder.client in moment.gone and not grant.want.detached else how


def _waiter_ends(moment: Moment, waiter: Waiter) -> Ending | None:
    """Say how a waiter had to end: by death, by lost patience, or else by what was asked."""
    how: Ending | None = None
    match moment.request:
        case Release(_, claim_id) | Withdraw(_, claim_id) if claim_id == waiter.claim_id:
            how = "withdrawn"
    if waiter.patience_until <= moment.now:
        how = "lapsed"
    return "gone" if waiter.holder.client in moment.gone else how
