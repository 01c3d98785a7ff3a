"""Unknown is never reported as known, and nothing is left behind by a call that failed.

Whoever is told "busy", or that nothing was changed, can rely on it: nothing is granted to that
claim and it is not in line. However an acquire fails (also cancelled, also unresolved), its claim
is ended at the server, or its withdrawal is with the keeper, or nobody has ever heard of it and no
copy is under way. Checked in every world, except for claims that the network itself has doubled
(such a copy nobody can know of, and it costs one TTL at most: ``ghosts``), and for those that the
server had confirmed to be over before it was rolled back to a time when they were not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, LockBusy
from holdfast.rules.messages import Release, Withdraw

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

KNOWN = "unknown is not called known"
LEFT = "nothing is left behind"


class Honesty:
    """Holds what an error says against what the server has."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def refused(self, client: Client, claim_id: str, error: BaseException) -> None:
        """Look at an acquire that ended in an error."""
        watch = self._watch
        if claim_id in watch.doubled or watch.records.may_be_back(claim_id):
            return
        said = f"{client.name} was told {type(error).__name__}"
        chores = [*(chore.request for chore in client.book.chores), *client.keeper_wire.asking]
        left = self._left_of(client, claim_id)
        undone = (Withdraw, Release)  # of several names those that were had are released
        if any(isinstance(one, undone) and one.claim_id == claim_id for one in chores):
            if left and isinstance(error, BackendUnavailable) and error.outcome == "none":
                watch.fail(KNOWN, f"{said}, and that nothing was changed, but {left}")
            return
        sure = isinstance(error, LockBusy) or (
            isinstance(error, BackendUnavailable) and error.outcome == "none"
        )
        if sure and left:
            watch.fail(KNOWN, f"{said}, but {left}")
        elif left:
            watch.fail(LEFT, f"{said}, and {left}")
        elif watch.flying.get(claim_id) and not watch.records.is_over(claim_id):
            watch.fail(LEFT, f"{said}, and a copy of its claim {claim_id} is under way")

    def _left_of(self, client: Client, claim_id: str) -> str:
        if client.book.closing:
            return ""  # its keeper withdraws what was waiting
        now = client.server.now()
        for record in client.server.records.values():
            if any(one.claim_id == claim_id and one.ends_at > now for one in record.grants):
                return f"its claim {claim_id} on {record.name!r} is granted"
            if any(one.claim_id == claim_id and one.patience_until > now for one in record.queue):
                return f"its claim {claim_id} on {record.name!r} is in line"
        return ""
