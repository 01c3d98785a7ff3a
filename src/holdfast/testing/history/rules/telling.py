"""Every loss is told, and nobody inherits a lease.

Whoever finds its lease over must be told by the callback, too, and must not leave as if nothing had
happened. A forked child holds nothing of its parent's. A fault that touches the process excuses a
callback that came late, never a silent exit.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Event
from holdfast.testing.history.rule import Rule


class Telling(Rule):
    """Losses are loud."""

    name = "telling"

    def on_lost(self, event: Event) -> None:
        """See that the callback came."""
        claim = event.about()
        self.judged += 1
        if event.fields["told"]:
            return
        fault = self.weather.touching(claim.pid, claim.held_at)
        if fault:
            self.excused[f"{fault} while it was to be told"] += 1
            return
        self.accuse(
            f"{claim} lost {claim.name!r} and was not told by its callback",
            claim.held,
            event.proof,
        )

    def on_left(self, event: Event) -> None:
        """See that a lost lease is not given back as if it were good."""
        claim = event.about()
        if claim.lost is not None and event.fields["how"] == "released":
            self.accuse(
                f"{claim} left {claim.name!r} without an error although it had been lost",
                claim.held,
                claim.lost,
                event.proof,
            )

    def on_inherited(self, event: Event) -> None:
        """See that a child does not believe in what its parent holds."""
        self.judged += 1
        if event.fields["held"]:
            self.accuse(
                f"{event.worker} is a forked child and believes in its parent's lease", event.proof
            )
