"""Nothing stays held by nobody beyond its TTL.

A grant that no caller has or asks for any more (crashed, cancelled, dropped, given back in vain)
must end within its TTL, plus what is stated in ``grace``. And once nothing goes wrong any more,
what a living client has no use for is given back promptly, however long its TTL, unless the server
has forgotten that it was, or the network has doubled the claim. Checked in every world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.rounds import ON_ITS_WAY
from holdfast.rules.holding import Record
from holdfast.rules.lease import TICK
from holdfast.testing.sim.plan import Plan

if TYPE_CHECKING:
    from holdfast.testing.sim.server import Server
    from holdfast.testing.sim.watch import Watch

NAME = "nothing is held by nobody"


def grace(plan: Plan) -> float:
    """Say for how much longer than its TTL a grant may live on.

    A renewal may be under way when its client dies; a lease dropped by an interruption is kept
    until the keeper can know that; a server's clock may be set back.
    """
    patience = max((member.call_limit for member in plan.members), default=0.0)
    back = sum(-fault.amount for fault in plan.faults if fault.amount < 0)
    paused = plan.longest_pause()
    return 1.0 + ON_ITS_WAY + patience + plan.weather.latest + plan.weather.slowest + back + paused


def promptly(plan: Plan) -> float:
    """Say how soon a living client gives back what it has no use for, when nothing goes wrong."""
    patience = max((member.call_limit for member in plan.members), default=0.0)
    return ON_ITS_WAY + 2 * TICK + 2 * patience + 1.0


class Ghosts:
    """Looks for grants that outlive everyone who could want them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        plan = watch.world.plan
        self._longest = plan.longest_ttl() * 1.02 + grace(plan)

    def look(self, server: Server, record: Record) -> None:
        """Look at a record that was just changed."""
        watch = self._watch
        for grant in record.grants:
            if grant.claim_id in watch.minded:
                continue
            ended_at = watch.ended_at.get(grant.claim_id)
            if ended_at is None:
                continue
            lives_until = server.scheduler.time + (grant.ends_at - server.now())
            if lives_until > ended_at + self._longest:
                who = grant.holder.client
                text = (
                    f"{record.name!r} is held for {who} until {lives_until:.3f} s, and nobody has"
                    f" wanted it since {ended_at:.3f} s"
                )
                watch.fail(NAME, text)

    def sweep(self, server: Server) -> None:
        """Look at all records at a time at which nothing should be left to do."""
        watch = self._watch
        if any(fault.kind == "rollback" for fault in watch.world.plan.faults):
            return
        able = {one.name for one in watch.world.clients if not one.dead and one.keeper.alive}
        for name, record in server.records.items():
            for grant in record.grants:
                claim_id, who = grant.claim_id, grant.holder.client
                if claim_id in watch.minded or who not in able or claim_id in watch.doubled:
                    continue
                if grant.ends_at <= server.now():
                    continue
                # What is broken gently passes on with its holder's word, or its end; a lease that
                # nobody ever had is found when the keeper looks next, which may be at its end.
                if grant.broken or claim_id in watch.unfaced:
                    continue
                ended_at = watch.ended_at.get(claim_id, 0.0)
                if ended_at < watch.world.plan.heals_at:
                    text = f"{who} has not given {name!r} back since {ended_at:.3f} s"
                    watch.fail(NAME, text)
