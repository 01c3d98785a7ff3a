"""No update of a cell is lost or made twice; versions and values go up together, in real time.

Workers only ever add one. So two updates that were confirmed with the same value have lost one of
them; a larger version has a larger value; an update that began after another was confirmed has a
larger version than that. And until something is first forgotten, a cell's value is no larger than
the number of updates that may have been made.
"""

from __future__ import annotations

from bisect import bisect
from typing import NamedTuple

from holdfast.testing.history.claims import Event
from holdfast.testing.history.form import HistoryError
from holdfast.testing.history.rules.epochs import EpochRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class _Made(NamedTuple):
    version: int
    value: int
    proof: Proof


class _Cell:
    """What was confirmed of one cell, in the order of versions."""

    __slots__ = ("begun", "made", "newest", "undone")

    def __init__(self) -> None:
        self.made: list[_Made] = []
        self.newest: _Made | None = None
        self.begun = 0
        self.undone = 0


class Updates(EpochRule):
    """What was added is there, once."""

    name = "updates"
    words = frozenset({"adding", "added", "unadded"})

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._cells: dict[str, _Cell] = {}
        self._begun: dict[str, tuple[int, _Made | None]] = {}  # by worker, with what was known then

    def forget(self) -> None:
        """Begin anew: what is in the cells from here on is not known."""
        self._cells.clear()

    def on_adding(self, event: Event) -> None:
        """Take note of what was confirmed before this began."""
        cell = self._cell(event)
        cell.begun += 1
        self._begun[event.worker] = (event.at, cell.newest)

    def on_unadded(self, event: Event) -> None:
        """Take note of one that was certainly not made."""
        self._cell(event).undone += event.fields["known"]
        self._begun.pop(event.worker, None)

    def on_added(self, event: Event) -> None:
        """Hold it against all that were confirmed."""
        if event.worker not in self._begun:
            raise HistoryError(f"{event.proof}: added what was not begun")
        began, known = self._begun.pop(event.worker)
        if not self.is_certain(began):
            return
        self.judged += 1
        cell = self._cell(event)
        made = _Made(event.fields["version"], event.fields["value"], event.proof)
        if known is not None and made.version <= known.version:
            self._accuse(event, "began after a newer one was confirmed", known)
        place = bisect(cell.made, made)
        before = cell.made[place - 1] if place else None
        after = cell.made[place] if place < len(cell.made) else None
        for other in (before, after):
            if other is not None and not _is_ordered(made, other):
                self._accuse(event, "does not go up with its version", other)
        if self.epochs == 0 and made.value > cell.begun - cell.undone:
            self._accuse(event, f"is more than the {cell.begun} that were begun", None)
        cell.made.insert(place, made)
        cell.newest = cell.made[-1]

    def _cell(self, event: Event) -> _Cell:
        return self._cells.setdefault(event.fields["cell"], _Cell())

    def _accuse(self, event: Event, what: str, other: _Made | None) -> None:
        cell, value, version = (event.fields[key] for key in ("cell", "value", "version"))
        self.accuse(
            f"{event.worker} made {value} of {cell!r}, version {version}: that {what}",
            None if other is None else other.proof,
            event.proof,
        )


def _is_ordered(one: _Made, other: _Made) -> bool:
    """Whether version and value differ, and in the same way."""
    return one.version != other.version and (
        one.value < other.value if one.version < other.version else one.value > other.value
    )
