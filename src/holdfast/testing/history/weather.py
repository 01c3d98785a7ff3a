"""Which faults are on: what excuses, and how much calm time has passed.

A fault begins *before* it is done and ends *after* it has been undone, so it never excuses too
little. For a while after its end, ``recovery``, it still counts as on: connections are made anew,
leases of the dead run out.
"""

from __future__ import annotations

from collections import Counter

from holdfast.testing.history.claims import Event
from holdfast.testing.history.form import HistoryError
from holdfast.testing.history.moment import SECOND


class Weather:
    """The faults of one run, as far as time has come."""

    def __init__(self, recovery: float) -> None:
        self.counts: Counter[str] = Counter()
        self._recovery = round(recovery * SECOND)
        self._on: dict[int, tuple[str, frozenset[int] | None]] = {}
        self._last: dict[int | None, tuple[int, str]] = {}  # by pid, or None for everybody
        self._calm = 0
        self._counted_to = 0
        self._rough_until = 0

    def take(self, event: Event) -> None:
        """Let time pass up to the event, and take note if it is a fault."""
        match event.do:
            case "fault":
                kind, pids = event.fields["kind"], event.fields["pids"]
                self.counts[kind] += 1
                self.calm_at(event.at)
                self._on[event.fields["id"]] = (kind, None if pids is None else frozenset(pids))
            case "healed":
                self._heal(event)
            case "mishap":
                self.counts[event.fields["kind"]] += 1
            case _:
                pass

    def calm_at(self, at: int) -> int:
        """Give how many nanoseconds without any fault have passed; ``at`` never goes back."""
        begin = max(self._counted_to, self._rough_until)
        if at > begin and not self._on and self._counted_to:
            self._calm += at - begin
        self._counted_to = max(self._counted_to, at)
        return self._calm

    def touching(self, pid: int, since: int) -> str:
        """Name a fault that was on for this process at some time since then; empty if none was."""
        for kind, pids in self._on.values():
            if pids is None or pid in pids:
                return kind
        for scope in (pid, None):
            until, kind = self._last.get(scope, (0, ""))
            if until + self._recovery >= since and kind:
                return kind
        return ""

    def _heal(self, event: Event) -> None:
        try:
            kind, pids = self._on[event.fields["id"]]
        except KeyError:
            raise HistoryError(f"{event.proof}: heals a fault that never began") from None
        self.calm_at(event.at)
        del self._on[event.fields["id"]]
        self._rough_until = max(self._rough_until, event.at + self._recovery)
        scopes: frozenset[int | None] = frozenset({None}) if pids is None else frozenset(pids)
        for scope in scopes:
            self._last[scope] = (event.at, kind)
