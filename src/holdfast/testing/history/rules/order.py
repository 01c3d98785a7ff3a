"""First come, first served: nobody is let in before somebody who was certainly ahead in line.

A is ahead of B for certain if the backend had confirmed A's place before B even asked. B then has
the smaller token of the two only if B was let in first. That is allowed if A lost its place or was
passed over, which A's client says itself (*displaced*), or if a fault touched A's process while it
waited: an outage, a pause, a cut. Where tokens are drawn only after one was let in, they say
nothing about two who may hold together.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class Order(Rule):
    """Who was certainly ahead in line was let in first."""

    name = "order"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._lines: dict[str, dict[Claim, Claim | None]] = {}  # with who may have passed them

    def on_queued(self, event: Event) -> None:
        """Take a place at the end of the line."""
        claim = event.about()
        line = self._lines.setdefault(claim.name, {})
        line.pop(claim, None)
        line[claim] = None

    def on_displaced(self, event: Event) -> None:
        """Lose the place: others may be let in first from now on."""
        claim = event.about()
        self.excused["place lost"] += claim in self._lines.get(claim.name, ())
        self._leave(claim)

    def on_held(self, event: Event) -> None:
        """See who passed this one, and whom this one may have passed."""
        claim = event.about()
        line = self._lines.get(claim.name)
        if not line or not self.terms.in_order:
            return
        if claim in line:
            self._judge(claim, line.pop(claim))
        for ahead, passer in line.items():
            if ahead.queued_at is None or ahead.queued_at >= claim.asked_at:
                break
            if passer is None or claim.token < passer.token:
                line[ahead] = claim

    def on_busy(self, event: Event) -> None:
        """Leave the line without having been let in."""
        self._leave(event.about())

    on_failed = on_cancelled = on_busy

    def on_gone(self, event: Event) -> None:
        """Leave every line."""
        for claim in event.left:
            self._leave(claim)

    def _judge(self, claim: Claim, passer: Claim | None) -> None:
        self.judged += 1
        if passer is None or passer.token > claim.token:
            return  # nobody passed; or the word of the grant merely took longer
        if not self.terms.tokens_in_line and claim.weight + passer.weight <= claim.capacity:
            self.excused["let in together"] += 1
            return
        fault = self.weather.touching(claim.pid, claim.queued_at or 0)
        if fault:
            self.excused[f"{fault} while waiting"] += 1
            return
        self.accuse(
            f"{claim} was in line for {claim.name!r} since {self.clock(claim.queued_at or 0)};"
            f" {passer} asked only at {self.clock(passer.asked_at)} and was let in first",
            claim.queued,
            passer.asked,
            passer.held,
            claim.held,
        )

    def _leave(self, claim: Claim) -> None:
        self._lines.get(claim.name, {}).pop(claim, None)
