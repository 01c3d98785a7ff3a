"""Tokens of a name grow with its grants, and none is given twice.

The order of two grants is certain if one was asked for after the other had been received; then its
token must be larger. Of grants that were under way at the same time only this is known: their
tokens differ.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather

Seen = tuple[int, Proof | None]
"""A token, and where it was received."""


class _Name:
    """The tokens of one name that can still matter."""

    __slots__ = ("given", "largest", "pending")

    def __init__(self) -> None:
        self.largest: Seen = (0, None)
        self.pending: dict[Claim, Seen] = {}  # in the order of asking, with the largest by then
        self.given: dict[int, Claim] = {}  # in the order of receiving

    def settle(self, claim: Claim) -> Seen:
        """Take a claim off; forget tokens that were received before anybody pending asked.

        Whoever asks later and gets one of these is caught because it is not larger.
        """
        floor = self.pending.pop(claim, (0, None))
        oldest = next(iter(self.pending), None)
        while self.given:
            token, holder = next(iter(self.given.items()))
            if oldest is not None and holder.held_at >= oldest.asked_at:
                break
            del self.given[token]
        return floor


class Tokens(Rule):
    """Each token is larger than all that were received before it was asked for."""

    name = "tokens"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._names: dict[str, _Name] = {}

    def on_ask(self, event: Event) -> None:
        """Note the largest token that anybody has received by now."""
        claim = event.about()
        name = self._names.setdefault(claim.name, _Name())
        name.pending[claim] = name.largest

    def on_held(self, event: Event) -> None:
        """See that the token is above that, and new."""
        claim = event.about()
        name = self._names[claim.name]
        self.judged += 1
        twin = name.given.get(claim.token)
        floor, earlier = name.settle(claim)
        if claim.token <= floor:
            self.accuse(
                f"{claim} asked for {claim.name!r} after token {floor} had been received,"
                " and got one that is not larger",
                earlier,
                claim.asked,
                claim.held,
            )
        elif twin is not None:
            self.accuse(
                f"token {claim.token} of {claim.name!r} was given to {twin.worker} and to"
                f" {claim.worker}",
                twin.held,
                claim.held,
            )
        name.given[claim.token] = claim
        if claim.token > name.largest[0]:
            name.largest = (claim.token, claim.held)

    def on_busy(self, event: Event) -> None:
        """Forget a claim that came to nothing."""
        self._names[event.about().name].settle(event.about())

    on_failed = on_cancelled = on_busy

    def on_gone(self, event: Event) -> None:
        """Forget the claims of a worker that is gone."""
        for claim in event.left:
            self._names[claim.name].settle(claim)
