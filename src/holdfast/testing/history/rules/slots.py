"""No slot of a singleton is completed twice.

A slot belongs to the clock of the backend, so a slot that was completed in one epoch cannot come
again in the same: where somebody sets that clock, a new epoch begins.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Event
from holdfast.testing.history.rules.epochs import EpochRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class Slots(EpochRule):
    """What runs once per slot runs once per slot."""

    name = "slots"
    words = frozenset({"completed"})
    breaking = "clock"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._completed: dict[tuple[str, int], Proof] = {}

    def forget(self) -> None:
        """Begin anew: which slots are closed is not known any more."""
        self._completed.clear()

    def on_completed(self, event: Event) -> None:
        """See that nobody has completed this slot before."""
        fields = event.fields
        if not self.is_certain(fields["since"]):
            return
        self.judged += 1
        job, slot = fields["job"], fields["slot"]
        first = self._completed.setdefault((job, slot), event.proof)
        if first is not event.proof:
            text = f"{event.worker} has completed {job!r} in the slot {slot}, which was completed"
            self.accuse(text, first, event.proof)
