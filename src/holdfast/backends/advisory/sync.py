"""The wire for threads: the caller's own thread asks the session. Counterpart: ``aio``."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.advisory.desk import Desk
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request


class SyncWire:
    """Blocks the caller for as long as an answer takes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        return self._desk.answer(request, deadline)

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, renewals together and everything else one by one."""
        return self._desk.carry_out(requests, deadline)

    def close(self) -> None:
        """End every session."""
        self._desk.close()

    def abandon(self) -> None:
        """Leave the sessions to the keeper, which ends them when it has nothing more to say."""
        self._desk.desert()


class KeeperWire(SyncWire):
    """The keeper's way in: it says goodbye first, and the sessions are still needed then."""

    def close(self) -> None:
        """Leave the sessions to the client's own wire, unless nobody is left there."""
        if self._desk.deserted:
            self._desk.close()
