"""The textbook's way to limit a rate, with fractions, and what every step of the rule must keep.

The model is GCRA: a *theoretical arrival time* that each take moves on by its share of the period.
It knows nothing of what is owed, rounds nothing and forgets nothing but what cannot matter.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from holdfast.rules.bucket import OWED_LIMIT, Bucket, step
from holdfast.rules.bucket_messages import (
    BucketReply,
    BucketRequest,
    GaveBack,
    GiveBack,
    Short,
    Take,
    Terms,
    Took,
)

FEW = 20
"""A take is remembered at least until so many others came after it."""


class Use(NamedTuple):
    """Permits that somebody may use from ``ready_at`` on."""

    take_id: str
    ready_at: int
    permits: int
    reserved: bool


class Model:
    """One bucket, whose terms never change."""

    def __init__(self, terms: Terms) -> None:
        self._each = Fraction(terms.period, terms.amount)
        self._terms = terms
        self._arrival = Fraction(0)
        self.uses: list[Use] = []
        self.living: list[Use] = []
        """Those whose debt is not worked off yet: what may still be asked about."""

    def pass_time(self, now: int) -> None:
        """Where everything is worked off, nothing is remembered."""
        if self._arrival <= now:
            self.living.clear()

    def take(self, take: Take, now: int) -> Took | Short:
        """Say what must be answered to a take that is not known."""
        start = max(self._arrival, Fraction(now))
        after = start + take.permits * self._each
        ready_in = max(0, math.ceil(after - self._terms.burst * self._each - now))
        too_much = (after - now) * self._terms.amount > OWED_LIMIT
        if ready_in > take.wait or too_much:
            return Short(ready_in, self._remaining(start - now))
        self._arrival = after
        use = Use(take.take_id, now + ready_in, take.permits, reserved=ready_in > 0)
        self.uses.append(use)
        self.living.append(use)
        return Took(ready_in, self._remaining(after - now))

    def remaining(self, now: int) -> int:
        """Say how many could be had at once."""
        return self._remaining(max(self._arrival, Fraction(now)) - now)

    def give_back(self, take_id: str) -> GaveBack:
        """Take the last one out of the world again."""
        if not self.living or self.living[-1].take_id != take_id:
            return GaveBack("kept")
        use = self.living.pop()
        self.uses.remove(use)
        self._arrival -= use.permits * self._each
        return GaveBack("undone")

    def _remaining(self, ahead: Fraction) -> int:
        return max(0, math.floor(self._terms.burst - ahead / self._each))

    def never_too_much(self) -> None:
        """See that no stretch of time has more uses than burst + rate x time.

        To a microsecond where somebody waited: that is how finely a moment can be told.
        """
        uses = sorted(self.uses, key=lambda use: use.ready_at)
        burst, amount, period = self._terms.burst, self._terms.amount, self._terms.period
        worst: float = -math.inf  # of (used before) - (worked off until), at every beginning
        used = 0
        for use in uses:
            worst = max(worst, use.ready_at * amount - used * period)
            used += use.permits
            grain = amount if any(one.reserved for one in uses) else 0
            over = used * period - use.ready_at * amount + worst - burst * period
            assert over <= grain, f"{use} is {over} too much"


class Witness:
    """Steps the rule and watches it; buckets with other terms than their own are not compared."""

    def __init__(self) -> None:
        self.buckets: dict[str, Bucket | None] = {}
        self._models: dict[str, Model] = {}

    def ask(self, request: BucketRequest, now: int) -> BucketReply:
        """Step one request, and see that the model says the same."""
        before = self.buckets.get(request.name)
        after, reply = step(before, request, now)
        self.buckets[request.name] = after
        if isinstance(request, Take):
            self._models.setdefault(request.name, Model(request.terms))
        model = self._models.get(request.name)
        if model is None:
            assert reply == GaveBack("unknown")
            return reply
        model.pass_time(now)
        known = next((use for use in model.living if use.take_id == request.take_id), None)
        if isinstance(request, GiveBack):
            self._give_back(model, request, known, reply)
        elif known is not None and isinstance(reply, Took) and after is before:
            assert reply == Took(max(0, known.ready_at - now), model.remaining(now))
        else:
            self._take(model, request, now, known, reply)
        self._holds_together(model, after, now)
        return reply

    def _give_back(
        self, model: Model, request: GiveBack, known: Use | None, reply: BucketReply
    ) -> None:
        if known is None:
            assert reply == GaveBack("unknown")
        elif reply == GaveBack("unknown"):
            assert _place(model, known) > FEW, "forgotten too early"
        else:
            assert reply == model.give_back(request.take_id)

    def _take(
        self, model: Model, take: Take, now: int, known: Use | None, reply: BucketReply
    ) -> None:
        if known is not None:
            assert _place(model, known) > FEW, "taken twice"
        assert reply == model.take(take, now)
        if isinstance(reply, Took) and len(model.uses) > 1:
            last, this = model.uses[-2:]
            assert last.ready_at <= this.ready_at, "somebody was passed"

    def _holds_together(self, model: Model, bucket: Bucket | None, now: int) -> None:
        model.never_too_much()
        owes = bucket is not None and bucket.empty_at > now
        assert owes == (model._arrival > now)


def _place(model: Model, use: Use) -> int:
    """Say how many came after."""
    return len(model.living) - model.living.index(use)
