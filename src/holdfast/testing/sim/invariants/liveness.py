"""Whoever keeps asking gets in once faults stop, and nobody hangs beyond what they would wait.

The bound follows from the promises: a crashed holder blocks for its TTL, a dead waiter for its
patience, a server without memory for its quarantine, and everybody ahead takes their time once.
Checked in every world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.release import PROMPTLY
from holdfast.rules.desk import FIRST_LIFE
from holdfast.rules.lease import PATIENCE, TICK
from holdfast.testing.sim.plan import Plan

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller
    from holdfast.testing.sim.world import World

NAME = "whoever asks gets in"


def longest_wait(plan: Plan) -> float:
    """Say how long after the last fault a caller may still have to wait."""
    call_limit = max((member.call_limit for member in plan.members), default=0.0)
    set_back = sum(-fault.amount for fault in plan.faults if fault.amount < 0)
    turn = plan.longest_stay() + FIRST_LIFE + 2 * TICK + call_limit
    dead = plan.longest_ttl() + PATIENCE + plan.weather.latest
    return 1.02 * (plan.host.quarantine + dead + plan.callers() * turn + set_back)


def check(world: World, longest: float) -> None:
    """Look at everyone who asks."""
    now = world.scheduler.time
    for caller in world.callers:
        since = caller.asking_since
        if since is None or caller.client.halted or caller.asking_for is None:
            continue
        wait, times = caller.asking_for.wait, caller.asking_times
        if wait is None:
            limit = max(since, world.plan.heals_at) + longest * times if world.healed else now
        else:
            limit = _limit(caller, since, wait)
        if now > limit:
            name = caller.asking_for.name
            text = f"{caller.client.name} asks for {name!r} since {since:.3f} s (wait={wait})"
            world.watch.fail(NAME, text)


def _limit(caller: Caller, since: float, wait: float) -> float:
    """Say until when a call with a finite ``wait`` may take: asking, confirming, withdrawing."""
    client = caller.client
    took = max(wait, client.plan.call_limit) + client.plan.call_limit + 2 * PROMPTLY
    return max(since, client.resumed_at) + took * caller.asking_times * 1.02
