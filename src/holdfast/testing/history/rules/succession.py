"""Nobody is let in beside a holder who still believes, even if the intruder never gets to a check.

Tokens grow with grants. So if a larger token of a name was *received* by somebody, its grant had
been made by then; whoever has a smaller token and still believes at a later moment has believed
beside it, unless there was room for both. This sees what spans of belief alone cannot: an intruder
that was paused, killed or finished before it checked anything. Doubts excuse (``doubts``).
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rules.doubts import DoubtingRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class Succession(DoubtingRule):
    """A claim that believes is older than no conflicting grant that anybody has received."""

    name = "succession"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._newest: dict[str, Claim] = {}
        self._newest_exclusive: dict[str, Claim] = {}
        self._accused: set[Claim] = set()

    def on_held(self, event: Event) -> None:
        """Remember the newest grants of the name."""
        claim = event.about()
        _keep_newer(self._newest, claim)
        if claim.exclusive:
            _keep_newer(self._newest_exclusive, claim)

    def on_checked(self, event: Event) -> None:
        """See that nothing newer leaves no room for this one."""
        claim = event.about()
        self.judged += 1
        newest = self._newest if claim.exclusive else self._newest_exclusive
        newer = newest.get(claim.name)
        if newer is None or newer.token <= claim.token or claim in self._accused:
            return
        until = self.certain_until(claim)
        if newer.held_at < until:
            self._accused.add(claim)
            self.accuse(
                f"{claim} still believes in {claim.name!r} at {self.clock(until)}, although {newer}"
                f" has had it since {self.clock(newer.held_at)} at the latest",
                claim.held,
                newer.held,
                claim.checked,
            )

    def on_left(self, event: Event) -> None:
        """Forget whoever was accused and is over."""
        self._accused.discard(event.about())


def _keep_newer(newest: dict[str, Claim], claim: Claim) -> None:
    known = newest.get(claim.name)
    if known is None or claim.token > known.token:
        newest[claim.name] = claim
