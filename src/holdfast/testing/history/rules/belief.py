"""Nobody believes longer than the backend can have granted.

What was granted ends one life after the last moment at which it can have been asked for: a lease
that is not renewed, after its grant; a process that was paused or cut off, after that began, and
for good if it lasted that long, for nothing revives a lease; a broken one, after the break. All of
this is on one clock, so there is no margin; where the backend's own was set back, it is longer by
as much. ``max_hold`` ends it in any case.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.rule import Rule, span
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class _Isolation:
    """A time in which processes could certainly not talk to the backend."""

    __slots__ = ("begin", "end", "kind", "proof")

    def __init__(self, begin: int, kind: str, proof: Proof) -> None:
        self.begin = begin
        self.end: int | None = None
        self.kind = kind
        self.proof = proof


class Belief(Rule):
    """Checks are good only as long as something can have been granted."""

    name = "belief"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._faults: dict[int, tuple[str, list[int] | None]] = {}
        self._stretches: dict[int, int] = {}
        self._open: dict[int, _Isolation] = {}
        self._of: dict[int | None, list[_Isolation]] = {}  # by pid, or None for everybody
        self._extended: dict[Claim, tuple[int, int]] = {}
        self._broken: dict[tuple[str, int], tuple[int, Proof]] = {}
        self._accused: set[Claim] = set()

    def on_fault(self, event: Event) -> None:
        """Remember whom it hits."""
        self._faults[event.fields["id"]] = (event.fields["kind"], event.fields["pids"])
        if event.fields.get("stretch"):
            self._stretches[event.fields["id"]] = round(event.fields["stretch"] * SECOND)

    def on_isolated(self, event: Event) -> None:
        """Begin a time without the backend."""
        kind, pids = self._faults[event.fields["id"]]
        isolation = self._open[event.fields["id"]] = _Isolation(event.at, kind, event.proof)
        for pid in (None,) if pids is None else pids:
            self._of.setdefault(pid, []).append(isolation)

    def on_rejoined(self, event: Event) -> None:
        """End it."""
        self._open.pop(event.fields["id"]).end = event.at

    def on_healed(self, event: Event) -> None:
        """Forget the fault."""
        self._faults.pop(event.fields["id"], None)
        self._stretches.pop(event.fields["id"], None)
        if event.fields["id"] in self._open:
            self.on_rejoined(event)

    def on_broke(self, event: Event) -> None:
        """Remember since when the backend renews it no more."""
        if event.fields["how"] == "done":
            grant = (event.fields["name"], event.fields["token"])
            self._broken.setdefault(grant, (event.at, event.proof))

    def on_extended(self, event: Event) -> None:
        """Let an unrenewed lease live on."""
        claim = event.about()
        if not claim.renewed:
            self._extended[claim] = (event.at, round(event.fields["ttl"] * SECOND))

    def on_checked(self, event: Event) -> None:
        """See that the holder can still have had a lease."""
        claim = event.about()
        self.judged += 1
        longer = sum(self._stretches.values())
        for over_at, why, proof in self._ends(claim):
            if event.at > over_at + longer and claim not in self._accused:
                self._accused.add(claim)
                self.accuse(
                    f"{claim} believes in {claim.name!r} at {self.clock(event.at)},"
                    f" {span(event.at - over_at)} after it must have been over: {why}",
                    claim.held,
                    proof,
                    claim.checked,
                )

    def on_left(self, event: Event) -> None:
        """Forget a claim that is over."""
        claim = event.about()
        self._extended.pop(claim, None)
        self._accused.discard(claim)

    def _ends(self, claim: Claim) -> list[tuple[int, str, Proof | None]]:
        ends: list[tuple[int, str, Proof | None]] = []
        if not claim.renewed:
            at, ttl = self._extended.get(claim, (claim.held_at, claim.longest_ns))
            # One that was handed over is filled up once, within its first life.
            lives = 1 if claim.queued_at is None else 2
            over_at = max(at + ttl, claim.held_at + lives * claim.longest_ns)
            ends.append((over_at, "nobody renews it", claim.asked))
        if claim.max_hold_ns is not None:
            ends.append((claim.held_at + claim.max_hold_ns, "max_hold is over", claim.asked))
        broken = self._broken.get((claim.name, claim.token)) if self._broken else None
        if broken is not None:
            ends.append((broken[0] + claim.longest_ns, "it was broken", broken[1]))
        for scope in (claim.pid, None):
            for isolation in reversed(self._of.get(scope, ())):
                if isolation.begin < claim.held_at:
                    break
                over_at = isolation.begin + claim.longest_ns
                if isolation.end is None or isolation.end >= over_at:
                    ends.append((over_at, f"no word since the {isolation.kind}", isolation.proof))
        return ends
