"""Who watches an election is told of true leaders only, each once, in the order of their tokens.

That there are never two of them is ``exclusion``, as for every lock. Checked in every world whose
tokens are promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.lead import Change, Watching

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "leaders are told in order"


class Leaders:
    """Remembers what each observer was told."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._told: dict[Watching, int] = {}  # the newest token by observer

    def told(self, client: Client, watching: Watching, change: Change) -> None:
        """Look at what an observer was told."""
        self._watch.family.done += 1
        if change.leader is None:
            return
        name, token = watching.name, change.leader.token
        before = self._told.get(watching, 0)
        if token <= before:
            text = f"{client.name} was told of token {token} of {name!r} after {before}"
            self._watch.fail(NAME, text)
        self._told[watching] = token
        if not self._watch.tokens.is_of(name, token, change.leader.holder.client):
            text = f"{client.name} was told of a leader of {name!r} that never was: token {token}"
            self._watch.fail(NAME, text)
