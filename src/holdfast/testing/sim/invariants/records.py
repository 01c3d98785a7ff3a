"""The server's records stay sound: what ``rules.claim`` says of one step holds for every history.

No more is granted than there is; a grant that is marked broken lives no longer than before; a
grant's end is never moved forward; a claim that ended is never granted again, as long as the server
remembers and its tombstone is young. Checked in every world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.rules.holding import Grant, Record
from holdfast.rules.tombstones import KEPT_FOR

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "records stay sound"


class Records:
    """Compares a record with what it was before the step."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._ended: dict[str, float] = {}  # claims that the server has ended, and when
        self._forgotten: set[str] = set()  # the same, before its memory was lost

    def ended(self, claim_id: str) -> None:
        """Note that the server has said that a claim is over."""
        self._ended.setdefault(claim_id, self._watch.world.scheduler.time)

    def is_over(self, claim_id: str) -> bool:
        """Whether the server has ended a claim."""
        return claim_id in self._ended

    def may_be_back(self, claim_id: str) -> bool:
        """Whether the server had ended a claim, said so, and may since have forgotten that."""
        return claim_id in self._forgotten

    def forget(self) -> None:
        """Note that the server has lost its memory, or a part of it."""
        self._forgotten.update(self._ended)
        self._ended.clear()

    def stepped(self, before: Record, after: Record) -> None:
        """Look at a record that was just changed."""
        taken = 0
        known = {grant.claim_id: grant for grant in before.grants}
        for grant in after.grants:
            taken += grant.want.weight
            earlier = known.get(grant.claim_id)
            if earlier is None:
                self._granted(after.name, grant)
            elif grant.ends_at < earlier.ends_at:
                self._complain(after.name, grant, "now ends earlier than before")
            elif earlier.broken and grant.ends_at > earlier.ends_at:
                self._complain(after.name, grant, "is broken, and now ends later than before")
        if taken > after.capacity:
            text = f"{taken} of {after.capacity} are granted of {after.name!r}"
            self._watch.fail(NAME, text)

    def _granted(self, name: str, grant: Grant) -> None:
        ended_at = self._ended.get(grant.claim_id)
        # A tombstone is kept for a minute of the server's clock; that is a little less than ours.
        if ended_at is not None and self._watch.world.scheduler.time < ended_at + 0.98 * KEPT_FOR:
            self._complain(name, grant, f"was granted although it ended at {ended_at:.6f} s")

    def _complain(self, name: str, grant: Grant, what: str) -> None:
        self._watch.fail(NAME, f"{grant.claim_id} on {name!r} {what}")
