"""Whoever holds what the backend has forgotten is told within a third of the lease's life.

Nothing keeps others out then, so this is what is promised instead: the next renewal finds out.
Only leases that are renewed are judged, and only where no other fault came near the process before
its time was over. ``Terms.telling_slack`` is what a busy machine may take on top.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.rule import Rule, span
from holdfast.testing.history.rules.doubts import Forgetting, Forgettings
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class Amnesia(Rule):
    """Nobody believes for long in what was forgotten."""

    name = "amnesia"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._forgettings = Forgettings()
        self._others: dict[int, frozenset[int] | None] = {}  # faults that are on, with their pids
        self._rough: dict[int | None, int] = {}  # until when some fault was on, by pid or for all
        self._accused: set[Claim] = set()

    def on_fault(self, event: Event) -> None:
        """Note what is forgotten, and what else excuses."""
        self._forgettings.begin(event)
        if not event.fields.get("forgets"):
            pids = event.fields["pids"]
            self._others[event.fields["id"]] = None if pids is None else frozenset(pids)

    def on_healed(self, event: Event) -> None:
        """Note that it is over."""
        self._forgettings.end(event)
        if event.fields["id"] in self._others:
            pids = self._others.pop(event.fields["id"])
            for scope in (None,) if pids is None else pids:
                self._rough[scope] = event.at

    def on_checked(self, event: Event) -> None:
        """See that whoever believes has not been forgotten long ago."""
        claim = event.about()
        slack = self.terms.telling_slack
        if slack is None or not claim.renewed:
            return
        forgotten = self._forgotten(claim)
        if forgotten is None or claim in self._accused:
            return
        late = event.at - forgotten.end - claim.longest_ns // 3
        if late <= slack * SECOND:
            return
        self._accused.add(claim)
        if self._disturbed(claim.pid, forgotten.begin):
            self.excused["another fault at that time"] += 1
            return
        self.accuse(
            f"{claim} still believes in {claim.name!r} {span(event.at - forgotten.end)} after the"
            " backend had forgotten it",
            claim.held,
            claim.checked,
        )

    def on_lost(self, event: Event) -> None:
        """Count those who were told."""
        self.judged += self._forgotten(event.about()) is not None

    def on_left(self, event: Event) -> None:
        """Forget a claim that is over."""
        self._accused.discard(event.about())

    def _forgotten(self, claim: Claim) -> Forgetting | None:
        """Say when the backend certainly lost a grant; what came up meanwhile it may have kept."""
        found = self._forgettings.first_after(claim.asked_at)
        sure = found is not None and found.everything and claim.held_at < found.begin
        return found if sure else None

    def _disturbed(self, pid: int, since: int) -> bool:
        if any(pids is None or pid in pids for pids in self._others.values()):
            return True
        return any(self._rough.get(scope, 0) >= since for scope in (pid, None))
