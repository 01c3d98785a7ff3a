"""The wire for threads: the transaction runs on the caller's own thread."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.sqlite.store import Store
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request


class SyncWire:
    """Blocks the caller for one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request in a transaction of its own."""
        return self._store.answer(request, deadline)

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many in one transaction: all of them, or none."""
        try:
            return [*self._store.carry_out(requests, deadline)]
        except BackendUnavailable as error:
            return [error] * len(requests)

    def close(self) -> None:
        """Let go of the connection."""
        self._store.close()

    def abandon(self) -> None:
        """Leave the connection to be collected with the wire."""
