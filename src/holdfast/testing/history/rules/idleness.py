"""A name that somebody waits for is not held by nobody.

From the moment at which the last holder has given it back (or was gone and its lease must have
ended) and somebody is in line, the next must be in within the caller's limit. Time with faults does
not count. This finds grants that leaked: nobody has them, and nobody else gets in.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.rule import Rule, span
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class _Name:
    """Who holds and who waits, as far as anybody has said."""

    __slots__ = ("blocked_until", "freed", "freed_calm", "holders", "waiters")

    def __init__(self) -> None:
        self.holders: dict[Claim, None] = {}
        self.waiters: dict[Claim, int] = {}  # since when, in calm time
        self.freed_calm = 0
        self.freed: Proof | None = None
        self.blocked_until = 0  # leases of the dead may live that long


class Idleness(Rule):
    """What is wanted is held."""

    name = "idleness"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._names: dict[str, _Name] = {}

    def on_queued(self, event: Event) -> None:
        """Take note that somebody waits."""
        claim = event.about()
        name = self._names.setdefault(claim.name, _Name())
        name.waiters.setdefault(claim, self.weather.calm_at(event.at))

    def on_held(self, event: Event) -> None:
        """See for how long nobody held although somebody waited."""
        claim = event.about()
        name = self._names.setdefault(claim.name, _Name())
        limit = self.terms.idle_limit
        if limit is not None and name.waiters and not name.holders:
            self.judged += 1
            wanted = next(iter(name.waiters.values()))
            idle = self.weather.calm_at(event.at) - max(wanted, name.freed_calm)
            if idle > limit * SECOND and event.at > name.blocked_until + limit * SECOND:
                first = next(iter(name.waiters))
                self.accuse(
                    f"nobody held {claim.name!r} for {span(idle)} although {first.worker} waited",
                    name.freed,
                    first.queued,
                    event.proof,
                )
        name.waiters.pop(claim, None)
        name.holders[claim] = None

    def on_left(self, event: Event) -> None:
        """Take note that the name may be free."""
        claim = event.about()
        name = self._names[claim.name]
        if event.fields["how"] != "released":
            self._block(name, claim, event.at)
        self._free(name, claim, event.at, event.proof)

    def on_busy(self, event: Event) -> None:
        """Take note that one waits no more; what became of its claim the backend knows."""
        claim = event.about()
        name = self._names.get(claim.name)
        if name is not None:
            name.waiters.pop(claim, None)
            if event.do != "busy":  # it may have been granted and not be withdrawn yet
                self._block(name, claim, event.at)

    on_failed = on_cancelled = on_busy

    def on_gone(self, event: Event) -> None:
        """Take note that leases of the dead live on for a while."""
        for claim in event.left:
            name = self._names.get(claim.name)
            if name is not None:
                self._block(name, claim, event.at)
                name.waiters.pop(claim, None)
                self._free(name, claim, event.at, claim.checked or claim.held)

    def _block(self, name: _Name, claim: Claim, at: int) -> None:
        name.blocked_until = max(name.blocked_until, at + claim.longest_ns)

    def _free(self, name: _Name, claim: Claim, at: int, proof: Proof | None) -> None:
        if claim in name.holders:
            del name.holders[claim]
            name.freed, name.freed_calm = proof, self.weather.calm_at(at)
