"""Which other clients are dead, asked of the kernel before the rule decides.

An answer "alive" is good for a moment, so that a busy name does not pay for a look at every one of
its clients in every transaction; "dead" is for ever. The head of the queue is always looked at:
it is the one that the name is about to be handed to.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.backends.sqlite.inbox import is_dead
from holdfast.rules.holding import Record

GOOD_FOR = 0.25
REMEMBERED = 4096


class Living:
    """What one process knows of the other clients of a file."""

    def __init__(self, folder: Path, own: str) -> None:
        self._folder = folder
        self._own = own
        self._alive_until: dict[str, float] = {}
        self._dead: set[str] = set()

    def gone(self, record: Record, now: float) -> set[str]:
        """Give the clients in ``record`` that are dead."""
        clients = {grant.holder.client for grant in record.grants}
        clients.update(waiter.holder.client for waiter in record.queue)
        clients.discard(self._own)
        if not clients:
            return clients
        head = record.queue[0].holder.client if record.queue else ""
        return {client for client in clients if self._is_dead(client, now, fresh=client == head)}

    def _is_dead(self, client: str, now: float, *, fresh: bool) -> bool:
        if client in self._dead:
            return True
        if not fresh and now < self._alive_until.get(client, 0.0):
            return False
        if len(self._alive_until) > REMEMBERED:
            self._alive_until.clear()
            self._dead.clear()
        if is_dead(self._folder, client):
            self._dead.add(client)
            return True
        self._alive_until[client] = now + GOOD_FOR
        return False
