"""What is promised in a world: DESIGN section 2 names its assumptions, and a plan may break them.

A world that keeps them all must keep every promise. Where one is broken, the token alone protects,
and only what is still promised is checked; that is decided here and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.testing.sim.plan import Plan

RATES_AGREE = 1.0101
"""Rates within one percent, as the margin of ``rules.lease`` counts it: 1 / 0.99."""


class Promises(NamedTuple):
    """Which promises a world must keep."""

    exclusion: bool = True  # no two believe at once; a loss is told before the rival is in
    tokens: bool = True  # tokens grow with every grant of a name, and fence


def promised_in(plan: Plan) -> Promises:
    """Say what is promised in the world of ``plan``."""
    kinds = {fault.kind for fault in plan.faults}
    forgets = not remembers(plan)
    steps_back = any(fault.kind == "wall" and fault.amount < 0 for fault in plan.faults)
    return Promises(
        exclusion=_rates_agree(plan)
        and not _steps_forward(plan)
        # A roll-back to an older snapshot cannot be seen: an acknowledged grant is forgotten.
        # (A quorum sees it: whoever restarts is another process.)
        and not ("rollback" in kinds and plan.quorum is None)
        # A lost memory is seen, and waited out by the quarantine if no lease can outlive that.
        and not (forgets and plan.longest_ttl() > plan.host.quarantine),
        tokens=not (forgets and steps_back),
    )


def remembers(plan: Plan) -> bool:
    """Say whether what was written is there for as long as it should be."""
    return not any(fault.kind in {"forget", "rollback"} for fault in plan.faults)


def _rates_agree(plan: Plan) -> bool:
    return all(plan.host.rate / member.rate <= RATES_AGREE for member in plan.members)


def _steps_forward(plan: Plan) -> bool:
    """Whether the clock on which leases run is set forward."""
    return any(
        fault.amount > 0
        and (fault.kind == "leap" or (fault.kind == "wall" and plan.host.one_clock))
        for fault in plan.faults
    )
