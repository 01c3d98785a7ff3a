"""Grants that may have been given to somebody else: from then on the token alone protects.

Two things do that, and both are on record before they are done. A lock can be broken by force; and
the backend itself can forget what it has granted (emptied by hand, rolled back to an old snapshot,
its clock set forward), which the design cannot prevent and therefore does not promise. What is
granted afterwards is promised again in full.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather

STILL_ON = 1 << 63


@dataclass(slots=True)
class Forgetting:
    """One time that the backend forgot grants: from before it until after it."""

    begin: int
    everything: bool
    end: int = STILL_ON


class Forgettings:
    """All of them, in the order of time."""

    def __init__(self) -> None:
        self._open: dict[int, Forgetting] = {}
        self._all: list[Forgetting] = []

    def begin(self, event: Event) -> None:
        """Note the beginning of a fault, if it is one of these."""
        forgets = event.fields.get("forgets")
        if forgets:
            forgetting = Forgetting(event.at, everything=forgets == "all")
            self._open[event.fields["id"]] = forgetting
            self._all.append(forgetting)

    def end(self, event: Event) -> None:
        """Note its end."""
        forgetting = self._open.pop(event.fields["id"], None)
        if forgetting is not None:
            forgetting.end = event.at

    def first_after(self, asked_at: int) -> Forgetting | None:
        """Give the first one that may have hit what was asked for then."""
        found = None
        for forgetting in reversed(self._all):
            if forgetting.end < asked_at:
                break
            found = forgetting
        return found


class DoubtingRule(Rule):
    """A rule about holding at once, which knows whose grants are in doubt, and since when."""

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._forced: dict[tuple[str, int], int] = {}
        self._forgettings = Forgettings()

    def on_breaking(self, event: Event) -> None:
        """Take note that a grant may be doubled from now on."""
        if event.fields["force"]:
            grant = (event.fields["name"], event.fields["token"])
            self._forced.setdefault(grant, event.at)

    def on_fault(self, event: Event) -> None:
        """Take note that every grant may be doubled from now on, if that is such a fault."""
        self._forgettings.begin(event)

    def on_healed(self, event: Event) -> None:
        """Take note that what is asked for from now on is certain again."""
        self._forgettings.end(event)

    def certain_until(self, claim: Claim) -> int:
        """Give until when the claim's belief must be true."""
        until = claim.believed_at
        if self._forced:
            until = min(until, self._forced.get((claim.name, claim.token), until))
        forgotten = self._forgettings.first_after(claim.asked_at)
        return until if forgotten is None else min(until, forgotten.begin)
