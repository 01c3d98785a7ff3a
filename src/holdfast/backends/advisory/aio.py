"""The wire for tasks: one thread of the client asks the sessions. Counterpart: ``sync``."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.advisory import faults
from holdfast.backends.advisory.desk import Desk
from holdfast.backends.postgres import faults as postgres_faults
from holdfast.backends.threaded import ThreadedWire
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import CLAIM_REQUESTS, ListNames, Reply, Request


class Words:
    """What can go wrong on the way to that thread."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def closed(self) -> BackendUnavailable:
        """Say that nobody works here any more."""
        return postgres_faults.closed(self._shown)

    def late(self) -> BackendUnavailable:
        """Say that the answer did not come in time; it may still be carried out."""
        return postgres_faults.silent(self._shown)

    def unforeseen(self, error: Exception) -> BackendUnavailable:
        """Wrap what should not have happened."""
        return faults.unforeseen(error)


class AioWire(ThreadedWire):
    """Hands requests to the client's thread; what is no business of ours is refused before."""

    def __init__(self, desk: Desk) -> None:
        words = Words(desk.ledger.terms.target.shown)
        super().__init__(desk, words, "holdfast-advisory")

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many."""
        for request in requests:
            if not isinstance(request, (*CLAIM_REQUESTS, ListNames)):
                raise faults.unsupported(type(request).__name__)
        return await super().ask_all(requests, deadline)
