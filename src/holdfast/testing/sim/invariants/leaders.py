"""Who watches an election is told of true leaders only, of each once, in the order of their tokens.

And of every one: who began to lead after an observer was first told how things are is told to it
before anybody that came later. That nobody leads is not told of somebody who leads. That there are
never two of them is ``exclusion``, as for every lock. The order is checked in every world whose
tokens are promised; the rest where leases are, and nothing that was written is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.book import LeaseState
from holdfast.flows.lead import Change, Watching
from holdfast.testing.sim.promises import remembers

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "leaders are told in order"
ALL = "every leader is told"
TRUE = "who leads is not called nobody"


class Leaders:
    """Remembers what each observer was told, and whom it is to be told of."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._due: dict[Watching, list[int]] = {}  # whom each observer is still to be told of
        self._told: dict[Watching, int] = {}  # the newest token by observer

    def began(self, state: LeaseState) -> None:
        """Note that somebody begins to do what a leader does."""
        for watching, due in self._due.items():
            if watching.name == state.name and state.token > self._told[watching]:
                due.append(state.token)

    def told(self, client: Client, watching: Watching, change: Change) -> None:
        """Look at what an observer was told."""
        watch = self._watch
        watch.family.done += 1
        strict = watch.promises.exclusion and remembers(watch.world.plan)
        due = self._due.setdefault(watching, [])
        name, before = watching.name, self._told.setdefault(watching, 0)
        if change.leader is None:
            if strict:
                self._look_for(client, name, before)
            return
        token = change.leader.token
        if token <= before:
            text = f"{client.name} was told of token {token} of {name!r} after {before}"
            watch.fail(NAME, text)
        self._told[watching] = token
        if not watch.tokens.is_of(name, token, change.leader.holder.client):
            text = f"{client.name} was told of a leader of {name!r} that never was: token {token}"
            watch.fail(NAME, text)
        missed = [one for one in due if one < token]
        if missed and strict:
            text = f"{client.name} was told of token {token} of {name!r}, and never of {missed}"
            watch.fail(ALL, text)
        self._due[watching] = [one for one in due if one > token]

    def _look_for(self, client: Client, name: str, token: int) -> None:
        """See that the one who was told last does not lead."""
        for stay in self._watch.stays.get(name, ()):
            state = stay.state
            leads = state.holds(stay.client.now()) and not stay.leaving and not stay.inherited
            if state.token == token and leads:
                text = f"{client.name} was told that nobody leads {name!r}, but {token} does"
                self._watch.fail(TRUE, text)
