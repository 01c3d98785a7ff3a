"""Tokens strictly increase with the grants of a name, whatever the server has forgotten.

Checked where the server's wall clock was not set back in a world in which it loses its memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.rules.holding import Grant

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "tokens increase"


class Tokens:
    """Remembers the largest token of each name, and numbers the grants in their true order."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._largest: dict[str, int] = {}
        self._count = 0
        self.numbers: dict[str, int] = {}

    def granted(self, name: str, grant: Grant) -> None:
        """Look at a new grant."""
        self._count += 1
        self.numbers[grant.claim_id] = self._count
        largest = self._largest.get(name, 0)
        if grant.token <= largest and self._watch.promises.tokens:
            who = grant.holder.client
            text = f"{who} was granted {name!r} with token {grant.token} after {largest}"
            self._watch.fail(NAME, text)
        self._largest[name] = max(largest, grant.token)
