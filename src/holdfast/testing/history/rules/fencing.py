"""A fenced resource never goes back, and never refuses who rightly holds.

The resource writes its own log, in its own order. In a fenced one tokens never get smaller from
line to line and no step of its counter is lost. Whoever was refused there and yet believed in its
exclusive lease afterwards was overtaken by somebody who should not have been in. In an unfenced one
stale writes are possible (a pause after the check) and only noted.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rules.doubts import DoubtingRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class Fencing(DoubtingRule):
    """What has landed is in the order of tokens."""

    name = "fencing"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._last: dict[str, tuple[int, int, Proof]] = {}
        self._refused: dict[Claim, tuple[int, Proof]] = {}

    def on_landed(self, event: Event) -> None:
        """Compare with what had landed before."""
        fields = event.fields
        resource, token, value = fields["resource"], fields["token"], fields["value"]
        before, counted, proof = self._last.get(resource, (0, 0, event.proof))
        self._last[resource] = (token, value, event.proof)
        self.judged += 1
        stale = token < before
        lost = value not in (counted, counted + 1)
        if not fields["fenced"]:
            self.notes["stale writes on an unfenced resource"] += stale or lost
        elif stale:
            self.accuse(
                f"{resource!r} took token {token} of {fields['by']} after token {before}",
                proof,
                event.proof,
            )
        elif lost:
            self.accuse(
                f"{resource!r} went from {counted} to {value} with token {token} of"
                f" {fields['by']}: a step was lost",
                proof,
                event.proof,
            )

    def on_refused(self, event: Event) -> None:
        """Remember it: it is fine if the holder finds out that its lease is over."""
        if event.about().exclusive:
            self._refused.setdefault(event.about(), (event.at, event.proof))

    def on_checked(self, event: Event) -> None:
        """Whoever was refused must not believe any more."""
        claim = event.about()
        refused = self._refused.get(claim)
        if refused is not None and self.certain_until(claim) > refused[0]:
            del self._refused[claim]
            self.accuse(
                f"{claim} was refused at {self.clock(refused[0])}, a larger token having been"
                f" there, and still believes in {claim.name!r}",
                claim.held,
                refused[1],
                claim.checked,
            )

    def on_left(self, event: Event) -> None:
        """Forget a claim that is over."""
        self._refused.pop(event.about(), None)

    def on_gone(self, event: Event) -> None:
        """Forget the claims of a worker that is gone."""
        for claim in event.left:
            self._refused.pop(claim, None)
