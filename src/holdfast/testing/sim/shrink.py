"""Make a failing plan smaller: fewer clients, fewer faults, shorter jobs, calmer weather.

A smaller plan counts if it breaks the same invariant, with its own dice or with one of a few other
throws. Greedy, and bounded by a number of runs: the aim is a history that a person can read.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from holdfast.testing.sim.plan import Hold, Host, Job, Member, Plan
from holdfast.testing.sim.weather import Weather
from holdfast.testing.sim.world import World

THROWS = 6
"""How many other throws of the dice a smaller plan is tried with."""

MOST_RUNS = 3000


def shrink(plan: Plan, invariant: str) -> Plan:
    """Give the smallest plan found that breaks ``invariant``."""
    runs = 0
    smaller = True
    while smaller and runs < MOST_RUNS:
        smaller = False
        for candidate in _smaller(plan):
            for throw in range(THROWS + 1):
                tried = candidate._replace(noise=plan.noise if throw == 0 else throw)
                runs += 1
                if _breaks(tried, invariant):
                    plan, smaller = tried, True
                    break
            if smaller or runs >= MOST_RUNS:
                break
    return _cut_short(plan, invariant)


def _breaks(plan: Plan, invariant: str) -> bool:
    violation = World(plan).run()
    return violation is not None and violation.invariant == invariant


def _cut_short(plan: Plan, invariant: str) -> Plan:
    """End the faults' time as early as possible: less to read before the end."""
    violation = World(plan).run()
    if violation is None or violation.at >= plan.heals_at:
        return plan
    shorter = plan._replace(heals_at=violation.at + 0.001)
    return shorter if _breaks(shorter, invariant) else plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Offer smaller plans, those that save most first."""
    for index in range(len(plan.members)):
        members = plan.members[:index] + plan.members[index + 1 :]
        if members:
            yield plan._replace(members=members)
    for index in range(len(plan.faults)):
        yield plan._replace(faults=plan.faults[:index] + plan.faults[index + 1 :])
    for index, member in enumerate(plan.members):
        for smaller in _smaller_member(member):
            yield plan._replace(
                members=(*plan.members[:index], smaller, *plan.members[index + 1 :])
            )
    calm = Weather(fast=plan.weather.fast)
    for field in Weather._fields:
        if getattr(plan.weather, field) != getattr(calm, field):
            yield plan._replace(weather=plan.weather._replace(**{field: getattr(calm, field)}))
    if plan.host != Host(quarantine=plan.host.quarantine):
        yield plan._replace(host=Host(quarantine=plan.host.quarantine))


def _smaller_member(member: Member) -> Iterator[Member]:
    for index in range(len(member.jobs)):
        rest = member.jobs[:index] + member.jobs[index + 1 :]
        if rest:
            strikes = tuple(one for one in member.strikes if one.task < len(rest))
            yield member._replace(jobs=rest, strikes=strikes)
    for caller, jobs in enumerate(member.jobs):
        for index, job in enumerate(jobs):
            without = jobs[:index] + jobs[index + 1 :]
            if without:
                yield _with_jobs(member, caller, without)
            for simpler in _simpler(job):
                yield _with_jobs(member, caller, (*jobs[:index], simpler, *jobs[index + 1 :]))
    for index in range(len(member.strikes)):
        yield member._replace(strikes=member.strikes[:index] + member.strikes[index + 1 :])
    if member.rate != 1.0:
        yield member._replace(rate=1.0)


def _with_jobs(member: Member, caller: int, jobs: tuple[Job, ...]) -> Member:
    return member._replace(jobs=(*member.jobs[:caller], jobs, *member.jobs[caller + 1 :]))


def _simpler(job: Job) -> Iterator[Job]:
    if not isinstance(job, Hold):
        return
    if len(job.steps) > 1:
        yield job._replace(steps=job.steps[1:])
    plain = Hold(job.name, job.want)
    for field in ("wait", "renew", "extend", "insists", "watches", "stops", "leaving", "freeze"):
        if getattr(job, field) != getattr(plain, field):
            yield job._replace(**{field: getattr(plain, field)})
    if job.max_hold < inf:
        yield job._replace(max_hold=inf)
