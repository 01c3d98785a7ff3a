"""The inbox of a simulated client: notices that come late, twice, or never.

``open`` is what the server can find out about it. An inbox may also be deaf without the server
knowing (the host is gone, the connection hangs): then it counts as open, and notices are lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.rules.messages import Notice
from holdfast.testing.sim.weather import Network

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client

MISSED = Notice("missed", "", "", "", 0)


class SimInbox:
    """Takes notices to one client."""

    __slots__ = ("_client", "_network", "deaf", "open")

    def __init__(self, client: Client, network: Network) -> None:
        self._client = client
        self._network = network
        self.open = True
        self.deaf = False

    def post(self, notice: Notice) -> None:
        """Send a notice on its way."""
        scheduler = self._client.scheduler
        for delay in self._network.notice():
            scheduler.at(scheduler.time + delay, self._arrive, notice)

    def close(self, *, known: bool = True) -> None:
        """Hear nothing from now on; ``known`` says whether the server is aware of it."""
        self.deaf = True
        self.open = not known

    def reopen(self, _: object = None) -> None:
        """Hear again, and say that something may have been missed."""
        if not self._client.dead:
            self.deaf, self.open = False, True
            self._arrive(MISSED)

    def _arrive(self, notice: Notice) -> None:
        client = self._client
        if self.deaf or client.dead:
            return
        if client.halted:
            client.backlog.append((self._arrive, notice))
            return
        client.world.note(client, "is told", "", (notice,))
        if client.plan.style == "aio":
            client.keeper.overhear(notice)
        else:
            client.keeper.put(notice)
