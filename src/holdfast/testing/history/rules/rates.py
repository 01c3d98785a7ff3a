"""Never more permits than the rate allows, in any window of time.

A permit was due at some moment from when it was asked for (``since``) to when its taker went on. In
a window there are for certain those whose whole span lies inside; they are never more than the
burst and what the rate yields in that time. Looked at is every window that begins with a permit, up
to a fixed length; an excess that is too slow for those shows in the few long ones.
"""

from __future__ import annotations

from bisect import insort
from itertools import islice
from typing import NamedTuple

from holdfast.testing.history.claims import Event
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.rule import span
from holdfast.testing.history.rules.epochs import EpochRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather

WINDOW = 64
"""So many permits are looked at behind each: with the usual rates some seconds."""

LONG = 16
"""So many windows up to the end are looked at when an epoch ends."""

SLACK = SECOND // 50
"""What the clock of the backend and that of a sleeper may differ by."""


class _Took(NamedTuple):
    at: int
    since: int
    proof: Proof


class Rates(EpochRule):
    """What is taken keeps to the rate."""

    name = "rates"
    words = frozenset({"took"})
    relies_on = frozenset({"records", "rates"})
    breaking = "clock"  # the one that rates run on

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._taken: dict[str, list[_Took]] = {}  # in the order of their ends
        self._terms: dict[str, tuple[int, int]] = {}
        self._accused: set[str] = set()

    def on_took(self, event: Event) -> None:
        """Put it down."""
        fields = event.fields
        if self.is_certain(fields["since"]):
            self.judged += 1
            self._terms[fields["limit"]] = (fields["rate"], fields["burst"])
            taken = self._taken.setdefault(fields["limit"], [])
            insort(taken, _Took(event.at, fields["since"], event.proof))

    def forget(self) -> None:
        """Judge what is known, and begin anew: what was taken is forgotten."""
        self.finish()
        self._taken.clear()

    def finish(self) -> None:
        """Look at every short window, and at some long ones."""
        for limit, taken in self._taken.items():
            by_start = sorted(taken, key=lambda one: one.since)
            every = max(1, len(by_start) // LONG)
            for number, first in enumerate(by_start):
                self._look(limit, first, by_start[number : number + WINDOW])
                if number % every == 0:
                    self._look(limit, first, list(islice(by_start, number, None)))

    def _look(self, limit: str, first: _Took, behind: list[_Took]) -> None:
        """Count those that ended, one after the other: all of them began in this window."""
        rate, burst = self._terms[limit]
        for count, last in enumerate(sorted(behind), 1):
            length = last.at - first.since + SLACK
            if count > burst + rate * length / SECOND and limit not in self._accused:
                self._accused.add(limit)  # once is enough
                allowed = f"{rate} a second, {burst} at once"
                text = f"{count} permits of {limit!r} in {span(length)}: {allowed}"
                self.accuse(text, first.proof, last.proof)
