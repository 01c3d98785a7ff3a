"""Unknown is never reported as known.

Whoever is told "busy", or that nothing was changed, can rely on it: no grant and no place in line
is left of the claim, and no copy of it is under way, unless its withdrawal is with the keeper.
Checked in every world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, HoldfastError, LockBusy
from holdfast.rules.messages import Withdraw

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "unknown is not called known"


class Honesty:
    """Holds what an error says against what the server has."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def refused(self, client: Client, claim_id: str, error: HoldfastError) -> None:
        """Look at an acquire that ended in an error."""
        sure = isinstance(error, LockBusy) or (
            isinstance(error, BackendUnavailable) and error.outcome == "none"
        )
        if not sure:
            return
        chores = [chore.request for chore in client.book.chores]
        if any(isinstance(one, Withdraw) and one.claim_id == claim_id for one in chores):
            return
        left = self._left_of(client, claim_id)
        if left:
            said = type(error).__name__
            text = f"{client.name} was told {said} ({error.message}), but {left}"
            self._watch.fail(NAME, text)

    def _left_of(self, client: Client, claim_id: str) -> str:
        now = client.server.now()
        for record in client.server.records.values():
            if any(one.claim_id == claim_id and one.ends_at > now for one in record.grants):
                return f"its claim on {record.name!r} was granted"
            if any(one.claim_id == claim_id and one.patience_until > now for one in record.queue):
                return f"its claim on {record.name!r} is in line"
        return ""
