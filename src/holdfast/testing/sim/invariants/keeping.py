"""A lease that is renewed is kept, for as long as its body likes.

Promised is only that a loss is told; but where nothing goes wrong there is no reason for one. So
this is checked where a plan has no faults, no blows and no breakers, and ways are short against the
shortest ttl and the first life of what is handed over: a keeper that renews too late, too little or
not at all shows here.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from holdfast.rules.desk import FIRST_LIFE
from holdfast.testing.sim.plan import Hold, Inspect, Job, Member, Plan, ttl_of

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "what is renewed is kept"

WAYS = 20
"""So many usual ways fit into the shortest ttl: a try takes two or three, and three tries fit."""


def is_peaceful(plan: Plan) -> bool:
    """Whether nothing in the plan could lose a lease."""
    if plan.faults or plan.weather != plan.weather.calm():
        return False
    jobs = [job for member in plan.members for jobs in member.jobs for job in jobs]
    # By the time its client makes it full, a grant that was handed over may have half of that left.
    shortest = min((_shortest(job) for job in jobs), default=inf)
    shortest = min(shortest, FIRST_LIFE / 2)
    return (
        plan.weather.fast * WAYS <= shortest
        and not any(_is_struck_or_troubled(member) for member in plan.members)
        and not any(isinstance(job, Inspect) and job.what in ("break", "force") for job in jobs)
        and not any(isinstance(job, Hold) and job.freeze for job in jobs)
    )


def _shortest(job: Job) -> float:
    """Give the ttl that a job asks for first; one that holds nothing can lose nothing."""
    return job.want.ttl if isinstance(job, Hold) else ttl_of(job) or inf


def _is_struck_or_troubled(member: Member) -> bool:
    return bool(member.strikes or member.interrupt_at or member.asks or member.keeps)


class Keeping:
    """Looks, at the end, whether a lease was lost for no reason."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def settle(self) -> None:
        """Look at all who have left."""
        watch = self._watch
        if not is_peaceful(watch.world.plan):
            return
        for stay in watch.past:
            state = stay.state
            if state.loss and state.wants_renewal and state.stop_at == inf:
                watch.fail(NAME, f"{stay} has lost {state.name!r}: {state.loss}")
