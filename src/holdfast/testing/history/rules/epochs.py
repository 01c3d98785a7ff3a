"""Between two times that the backend forgot: there its records and buckets can be relied upon.

What a backend forgets of cells, results and rates is not promised (``doubts`` says the same of
grants), nor is a rate while somebody sets the clock that it runs on. So such a rule judges what
began and ended in one and the same epoch, and begins anew with the next.
"""

from __future__ import annotations

from typing import ClassVar

from holdfast.testing.history.claims import Event
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class EpochRule(Rule):
    """A rule about what the backend remembers."""

    relies_on: ClassVar[frozenset[str]] = frozenset({"records"})
    """Whatever a fault ``loses`` of these ends an epoch, too."""

    breaking: ClassVar[str] = "\0"
    """How the kinds of other faults begin that end one."""

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._ends: dict[int, str] = {}  # faults that are on
        self.epochs = 0  # how many have ended
        self.epoch_since = 0

    def on_fault(self, event: Event) -> None:
        """End the epoch, if that is such a fault."""
        fields, kind = event.fields, event.fields["kind"]
        loses = fields.get("forgets") or fields.get("loses") in self.relies_on
        if loses or kind.startswith(self.breaking):
            self._ends[event.fields["id"]] = kind
            self._begin(event)

    def on_healed(self, event: Event) -> None:
        """Begin a new one when that is over."""
        if self._ends.pop(event.fields["id"], None) is not None:
            self._begin(event)

    def is_certain(self, since: int) -> bool:
        """Whether nothing was forgotten since then."""
        if self._ends or since < self.epoch_since:
            self.excused[next(iter(self._ends.values()), "forgotten meanwhile")] += 1
            return False
        return True

    def forget(self) -> None:
        """Drop what is known of the epoch that has ended."""
        raise NotImplementedError

    def _begin(self, event: Event) -> None:
        self.epochs += 1
        self.epoch_since = event.at
        self.forget()
