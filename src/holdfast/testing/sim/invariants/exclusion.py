"""No two believe at once beyond what mode and capacity allow.

Believing is ``LeaseState.holds`` on the client's own clock. Belief begins and grows only in an
event, and between events it can only end; so looking after every event is looking at every instant.
A grant broken by force ends without asking its holder, so that holder is not counted. Checked where
clocks agree, the server's clock makes no forward step, and no acknowledged grant is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "no two believe at once"


class Exclusion:
    """Counts the believers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def look(self) -> None:
        """Look at every name that is crowded."""
        if not self._watch.promises.exclusion:
            return
        for name, inside in self._watch.crowded.items():
            taken = 0
            for stay in inside:
                if not stay.excused and stay.believes():
                    taken += stay.state.want.weight
            if taken > inside[0].state.want.capacity:
                self._complain(name, inside)

    def entered(self, stay: Stay, inside: list[Stay]) -> None:
        """Look whether a newcomer has the slots of a believer."""
        slots = {*stay.state.slots}
        if slots and not stay.excused and self._watch.promises.exclusion:
            for other in inside:
                shares = other is not stay and slots & {*other.state.slots}
                if shares and not other.excused and other.believes():
                    self._complain(stay.state.name, [stay, other])

    def _complain(self, name: str, inside: list[Stay]) -> None:
        who = " and ".join(str(stay) for stay in inside if not stay.excused and stay.believes())
        self._watch.fail(NAME, f"{who} all believe that they hold {name!r}")
