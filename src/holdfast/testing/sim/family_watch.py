"""Who watches records and buckets in a simulated world, and asks each of their invariants in turn.

A part of ``watch``: told by the model server what truly became of a record or bucket, and by the
callers what they were told, so that the second can be held against the first.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from holdfast.rules.bucket_messages import BucketReply, GiveBack, Take
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Swap
from holdfast.testing.sim.invariants.cells import Cells
from holdfast.testing.sim.invariants.leaders import Leaders
from holdfast.testing.sim.invariants.onces import Onces
from holdfast.testing.sim.invariants.quotas import Quotas
from holdfast.testing.sim.invariants.slots import SlotRuns
from holdfast.testing.sim.invariants.together import Companies

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch


class FamilyWatch:
    """One invariant for each primitive that is more than a claim."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._forgotten_at = -inf  # when the server last lost what was written
        self.done = 0  # how much came of it all: updates, results, runs, permits, changes seen
        self.cells = Cells(watch)
        self.onces = Onces(watch)
        self.slots = SlotRuns(watch)
        self.quotas = Quotas(watch)
        self.together = Companies(watch)
        self.leaders = Leaders(watch)

    def swapped(self, request: Swap, before: Kept, after: Kept, now: int) -> None:
        """Note that a record was changed."""
        match request.space:
            case "cell":
                self.cells.landed(request, before, after, now)
            case "once":
                self.onces.landed(request, before, after)
            case "singleton":
                self.slots.landed(request)
            case "lead":
                self.leaders.landed(request)
            case _:
                raise ValueError(request.space)

    def drew(self, request: Take | GiveBack, reply: BucketReply, *, anew: bool) -> None:
        """Note what a bucket has answered."""
        self.quotas.answered(request, reply, anew=anew)

    def forget(self) -> None:
        """Note that the server has lost what was written: from here on it is promised anew."""
        self._forgotten_at = self._watch.world.scheduler.time
        self.cells.forget()
        self.onces.forget()
        self.slots.forget()
        self.quotas.forget()

    def is_certain(self, since: float) -> bool:
        """Whether nothing that was written has been lost since then."""
        return since >= self._forgotten_at

    def settle(self) -> None:
        """Look, at the end, at what only the whole story shows."""
        self.slots.settle()
        self.quotas.settle()
