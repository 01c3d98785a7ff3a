"""First come, first served: nobody is let in past a living waiter who can be told."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from holdfast.rules.holding import Record

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "first come, first served"


class FirstCome:
    """Compares who was let in with who still waits."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def granted(self, before: Record, after: Record, closed: Collection[str]) -> None:
        """Look at a step in which somebody was let in."""
        if not after.queue:
            return
        places = {waiter.claim_id: place for place, waiter in enumerate(before.queue)}
        known = {grant.claim_id for grant in before.grants}
        for waiter in after.queue:
            place = places.get(waiter.claim_id)
            if place is None or waiter.inbox in closed:
                continue
            for grant in after.grants:
                if grant.claim_id in known:
                    continue
                if places.get(grant.claim_id, len(places)) > place:
                    who, whom = grant.holder.client, waiter.holder.client
                    text = f"{who} was let in to {after.name!r} past {whom}, who waited longer"
                    self._watch.fail(NAME, text)
