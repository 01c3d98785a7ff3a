"""One body's stay under a lease, from the moment it was let in: what the invariants look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.book import LeaseState

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client


class Stay:
    """Who is inside, and with which lease."""

    __slots__ = (
        "client",
        "entered_at",
        "excused",
        "inherited",
        "leaving",
        "over",
        "state",
        "told",
        "told_at",
    )

    def __init__(self, client: Client, state: LeaseState, entered_at: float) -> None:
        self.client = client
        self.state = state
        self.entered_at = entered_at
        self.told = 0  # how often the client was told of the loss
        self.told_at = 0.0
        self.excused = False  # broken by force: its grant ended without asking it
        self.inherited = False  # a copy in a forked child
        self.leaving = False  # the body has ended, and gives the lease back
        self.over = False  # that is done, too

    def believes(self) -> bool:
        """Whether the holder believes at this very moment, by its own clock."""
        client = self.client
        return not client.dead and self.state.holds(client.now())

    def __str__(self) -> str:
        return f"{self.client.name} (token {self.state.token})"
