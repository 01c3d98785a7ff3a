"""Nobody waits longer than the caller's limit, counting only the time in which no fault is on."""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.rule import Rule, span
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class Waiting(Rule):
    """One call ends within the limit."""

    name = "waiting"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._since: dict[str, dict[Claim, int]] = {}

    def on_ask(self, event: Event) -> None:
        """Start the watch."""
        claim = event.about()
        self._since.setdefault(event.worker, {})[claim] = self.weather.calm_at(event.at)

    def on_held(self, event: Event) -> None:
        """Stop it, and look."""
        claim = event.about()
        began = self._since[event.worker].pop(claim)
        limit = self.terms.waiting_limit
        if limit is None:
            return
        self.judged += 1
        waited = self.weather.calm_at(event.at) - began
        own = 0.0 if claim.wait is None or event.do == "held" else claim.wait
        if waited > (limit + own) * SECOND:
            self.accuse(
                f"{claim} asked for {claim.name!r} and heard {event.do!r} only after"
                f" {span(waited)} in which no fault was on",
                claim.asked,
                event.proof,
            )

    on_busy = on_failed = on_cancelled = on_held

    def on_gone(self, event: Event) -> None:
        """Forget the claims of a worker that is gone: it can wait no more."""
        self._since.pop(event.worker, None)
