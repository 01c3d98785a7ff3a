"""Never more permits than the rate allows, in any window; none used early, twice, or given back.

What counts is the moment from which the server lets permits be used, in true time, for every take
that was not undone: between any two such moments there are at most ``burst`` and what the rate
yields meanwhile. Nobody uses them before that moment; a sleeper's clock may be one percent faster.
Checked in every world whose clock is not set forward, between one loss of its server's memory and
the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.rules.bucket_messages import BucketReply, GaveBack, GiveBack, Take, Terms, Took
from holdfast.testing.sim.promises import RATES_AGREE

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "the rate is kept"

ROUNDING = 5e-6
"""The server counts in whole microseconds."""


class _Taken(NamedTuple):
    take_id: str
    ready_at: float
    waits: float
    permits: int


class Quotas:
    """Remembers what was taken, in its order, and what was used."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._taken: dict[str, list[_Taken]] = {}  # by name, as far as the server remembers
        self._forgotten: dict[str, list[_Taken]] = {}  # the same, from before
        self._terms: dict[str, Terms] = {}
        self._used: set[str] = set()
        self._undone: set[str] = set()

    def forget(self) -> None:
        """Look at what was taken until now; from here on the rate begins anew."""
        self.settle()
        for name, taken in self._taken.items():
            self._forgotten.setdefault(name, []).extend(taken)
        self._taken.clear()

    def answered(self, request: Take | GiveBack, reply: BucketReply, *, anew: bool) -> None:
        """Note what a bucket has answered."""
        if isinstance(request, Take):
            if anew and isinstance(reply, Took):
                self._took(request, reply)
        elif isinstance(reply, GaveBack) and reply.how == "undone":
            self._gave_back(request)

    def _took(self, take: Take, reply: Took) -> None:
        world = self._watch.world
        waits = reply.ready_in / 1e6 / world.plan.host.rate
        taken = _Taken(take.take_id, world.scheduler.time + waits, waits, take.permits)
        self._taken.setdefault(take.name, []).append(taken)
        self._terms[take.name] = take.terms

    def _gave_back(self, request: GiveBack) -> None:
        if request.take_id in self._used:
            self._watch.fail(NAME, f"{request.take_id} was given back after it was used")
        self._undone.add(request.take_id)
        mine = self._taken.get(request.name, [])
        for taken in reversed(mine):
            if taken.take_id == request.take_id:
                mine.remove(taken)
                return

    def used(self, client: Client, name: str, ids: Sequence[str]) -> None:
        """Look at a caller that goes on because it has the permits."""
        take_id, now = ids[-1], client.scheduler.time
        every = (*self._forgotten.get(name, ()), *self._taken.get(name, ()))
        mine = [taken for taken in every if taken.take_id == take_id]
        if not mine or take_id in self._undone or take_id in self._used:
            self._watch.fail(NAME, f"{client.name} uses {take_id} of {name!r}, which it has not")
            return
        first = min(mine, key=lambda taken: taken.ready_at)
        early = first.ready_at - now - (RATES_AGREE - 1) * first.waits
        if early > ROUNDING:
            text = f"{client.name} uses {take_id} of {name!r} {early:.6f} s before its time"
            self._watch.fail(NAME, text)
        self._used.add(take_id)
        self._watch.family.done += 1

    def settle(self) -> None:
        """Look at every window there is."""
        rate = self._watch.world.plan.host.rate
        for name, taken in self._taken.items():
            terms = self._terms[name]
            per_second = terms.amount * 1e6 / terms.period * rate
            for first, earliest in enumerate(taken):
                permits = 0
                for last in taken[first:]:
                    permits += last.permits
                    span = last.ready_at - earliest.ready_at + ROUNDING
                    if permits > terms.burst + per_second * span + 1e-6:
                        text = f"{permits} permits of {name!r} in {span:.6f} s, with {terms}"
                        self._watch.fail(NAME, text)
                        return
