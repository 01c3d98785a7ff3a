"""Several names are held all or not at all: nobody is let in without one, losing one loses all.

A body that holds several is let in while it believes in every one of them, each granted to it.
From the very moment in which a client tells that one is lost it does not believe in the others any
more. Checked in every world; that the others are then given back is what ``ghosts`` looks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.book import Company
from holdfast.observe.events import Lost

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "all or none"


class Companies:
    """Remembers who holds several names at once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._inside: list[tuple[Client, Company]] = []

    def entered(self, client: Client, names: tuple[str, ...], company: Company) -> None:
        """Look at a body that was let in."""
        held = {state.name for state in company.states if state.holds(client.now())}
        if held != {*names}:
            text = f"{client.name} was let in with {sorted(held)} of {sorted(names)}"
            self._watch.fail(NAME, text)
        self._inside.append((client, company))
        self._watch.family.done += 1

    def lost(self, client: Client, event: Lost) -> None:
        """Look, right after this event, whether the others are lost as well."""
        for who, company in self._inside:
            states = company.states
            if who is client and any(
                (one.name, one.token) == (event.name, event.token) for one in states
            ):
                client.scheduler.soon(self._look, (client, company, event.name))

    def _look(self, told: tuple[Client, Company, str]) -> None:
        client, company, name = told
        good = [one.name for one in company.states if one.holds(client.now())]
        if good and not client.dead:
            text = f"{client.name} has lost {name!r} and still believes in {good}"
            self._watch.fail(NAME, text)
