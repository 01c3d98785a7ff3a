"""Tokens strictly increase with the grants of a name, whatever the server has forgotten.

Checked where the server's wall clock was not set back in a world in which it loses its memory. Even
there a client's own tokens increase: it says itself which was the largest that it has seen.
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
        self._seen: dict[tuple[str, str], list[tuple[float, int]]] = {}  # by client and name
        self._count = 0
        self._whose: dict[tuple[str, int], str] = {}  # by name and token
        self.numbers: dict[tuple[str, int], int] = {}

    def granted(self, name: str, grant: Grant) -> None:
        """Look at a new grant."""
        self._count += 1
        self.numbers[grant.claim_id, grant.token] = self._count
        self._whose[name, grant.token] = grant.holder.client
        largest = self._largest.get(name, 0)
        if grant.token <= largest:
            who = grant.holder.client
            if self._watch.promises.tokens:
                text = f"{who} was granted {name!r} with token {grant.token} after {largest}"
                self._watch.fail(NAME, text)
            asked_at = self._watch.minded.get(grant.claim_id, 0.0)
            for seen_at, token in self._seen.get((who, name), ()):
                if seen_at < asked_at and grant.token <= token:
                    text = f"{who}, who has seen {token}, was granted {name!r} with {grant.token}"
                    self._watch.fail(NAME, text)
        self._largest[name] = max(largest, grant.token)

    def is_of(self, name: str, token: int, who: str) -> bool:
        """Whether this client was granted the name with this token."""
        return self._whose.get((name, token)) == who

    def seen(self, who: str, name: str, token: int) -> None:
        """Note that a client has entered with a token."""
        time = self._watch.world.scheduler.time
        self._seen.setdefault((who, name), []).append((time, token))
