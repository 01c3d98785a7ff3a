"""Worlds of the whole family: cells, once keys, slots, quotas, several names at once, elections.

Here the name of a world says what its callers do; what goes wrong is drawn anew for each plan, from
nothing at all to everything that is assumed to be possible. A server that loses its memory is
among it where only claims are at work; where records and buckets are, that is a world of its own
(``lapses``), in which what was written is promised only until then.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeAlias

from holdfast.rules.bucket_messages import Terms
from holdfast.rules.messages import Want
from holdfast.testing.sim.cast import blows
from holdfast.testing.sim.errands.wishes import (
    Add,
    DoOnce,
    Draw,
    HoldAll,
    Observe,
    Preside,
    RunPer,
)
from holdfast.testing.sim.plan import Fault, FaultKind, Hold, Host, Job, Member, Plan, Style
from holdfast.testing.sim.troubles import FAST, LASTS, SLOW, bad_weather, fast, light, some_faults
from holdfast.testing.sim.weather import Weather

TTLS = (0.5, 1.0, 2.0, 4.0)

WAYS = 13
"""So many usual ways fit into a ttl: where they do not, several names can never be had together."""

Troubles: TypeAlias = tuple[tuple[FaultKind, ...], ...]

STORM: tuple[FaultKind, ...] = ("pause", "crash", "cut", "restart", "unheard")

TROUBLES: Troubles = (
    (), ("cut",), ("pause",), ("crash", "keeper"), ("restart", "pause"), STORM,
)  # fmt: skip
"""Which faults a plan has; in half of those without any the weather is bad."""

FORGETFUL: Troubles = (*TROUBLES, ("forget", "pause"), ("forget", "cut"))
"""Which faults a plan has in which nothing but claims is asked for."""


LOSING: Troubles = (
    ("forget",), ("forget", "pause"), ("forget", "cut"), ("forget", "crash", "restart"),
)  # fmt: skip
"""Which faults a plan has in which records and buckets are lost."""


def cells(dice: Random, troubles: Troubles = TROUBLES) -> Plan:
    """Draw a world whose callers add to the same few cells, and sometimes delete one."""
    trouble = _trouble(dice, troubles, set_back=dice.random() < 0.2)

    def job() -> Job:
        return Add(
            dice.choice("vw"),
            dice.random() ** 2 * 3,
            times=dice.randrange(1, 6),
            takes=dice.choice((0.0, 0.0, 0.01, 0.3)),
            wait=dice.choice((None, None, None, 0.5, 0.0)),
            deletes=dice.random() < 0.05,
        )

    return _plan(dice, trouble, job)


def onces(dice: Random, troubles: Troubles = TROUBLES) -> Plan:
    """Draw a world in which many want the result of the same few keys."""
    trouble = _trouble(dice, troubles, set_back=dice.random() < 0.2)
    ttl = trouble.ttl(dice)

    def job() -> Job:
        takes = dice.choice((0.01, 0.3, 1.5 * ttl)) * dice.random()
        wait = dice.choice((None, None, 0.0, 1.0))
        return DoOnce(dice.choice("kkkl"), dice.random() ** 2 * 4, takes, ttl, wait)

    return _plan(dice, trouble, job)


def slots(dice: Random, troubles: Troubles = TROUBLES) -> Plan:
    """Draw a world of schedulers that ask whether the run of this slot is due."""
    trouble = _trouble(dice, troubles)
    # A slot that outlives the quarantine can be run in again.
    per = dice.choice((1.0, 20.0) if troubles is LOSING else (0.5, 1.0, 3.0))
    ttl = trouble.ttl(dice)
    takes = per * dice.choice((0.01, 0.1, 0.2))

    def job() -> Job:
        every = per * dice.choice((0.1, 0.25, 0.6)) * (0.8 + 0.2 * dice.random())
        wait = dice.choice((0.0, 0.0, 0.5))
        return RunPer("p", dice.random(), per, takes, ttl, wait, dice.randrange(4, 16), every)

    return _plan(dice, trouble, job, most_jobs=2)


def quotas(dice: Random, troubles: Troubles = TROUBLES) -> Plan:
    """Draw a world in which everybody takes from one or two shared rates."""
    trouble = _trouble(dice, troubles, set_back=dice.random() < 0.2)
    terms = Terms(dice.choice((1, 3, 10)), 1_000_000, dice.choice((1, 3, 10)))

    def job() -> Job:
        return Draw(
            dice.choice("qqr"),
            terms,
            dice.random() ** 2 * 3,
            permits=min(terms.burst, dice.choice((1, 1, 1, 2))),
            wait=dice.choice((None, None, 0.0, 1.0)),
            times=dice.randrange(1, 5),
            every=dice.choice((0.0, 0.05, 1.0)),
        )

    return _plan(dice, trouble, job, most_jobs=2)


def lapses(dice: Random) -> Plan:
    """Draw one of these four whose server loses its memory, and with it what was written."""
    return dice.choice((cells, onces, slots, quotas))(dice, LOSING)


def companies(dice: Random) -> Plan:
    """Draw a world in which several names are wanted together, named in any order."""
    trouble, names = _trouble(dice, FORGETFUL), "abc"[: dice.randrange(2, 4)]

    def job() -> Job:
        ttl = trouble.ttl(dice)
        before, wait = dice.random() ** 2 * 2, dice.choice((None, None, None, 0.0, 1.0))
        if dice.random() < 0.25:
            return Hold(dice.choice(names), Want("lock", 1, 1, ttl), wait, before)
        wanted = tuple(dice.sample(names, dice.randrange(2, len(names) + 1)))
        steps = tuple(dice.random() ** 2 * 2 * ttl for _ in range(dice.randrange(1, 4)))
        return HoldAll(wanted, before, ttl, wait, steps, at_once=dice.random() < 0.6)

    return _plan(dice, trouble, job)


def elections(dice: Random) -> Plan:
    """Draw a world of leaders, standbys, and observers that follow who leads."""
    trouble = _trouble(dice, FORGETFUL)
    ttl = trouble.ttl(dice)

    def job() -> Job:
        before = dice.random() ** 2 * 2
        if dice.random() < 0.4:
            return Observe("chair", before, dice.uniform(1, 10))
        longest = dice.choice((0.1, 4.0))  # most come and go between two looks, or few
        steps = tuple(dice.random() ** 2 * longest for _ in range(dice.randrange(1, 3)))
        return Preside("chair", before, ttl, dice.choice((None, None, 0.0, 2.0)), steps)

    return _plan(dice, trouble, job)


WORLDS = (cells, onces, slots, quotas, companies, elections)


class _Trouble(NamedTuple):
    """What goes wrong, apart from what callers do to themselves."""

    weather: Weather
    faults: tuple[Fault, ...]

    def ttl(self, dice: Random) -> float:
        """Draw a life that leaves time to ask, renew and ask again over this network."""
        return dice.choice([ttl for ttl in TTLS if ttl >= WAYS * self.weather.fast])


def _trouble(dice: Random, troubles: Troubles = TROUBLES, *, set_back: bool = False) -> _Trouble:
    kinds = dice.choice(troubles)
    if kinds:
        bad = kinds is STORM or (troubles is LOSING and dice.random() < 0.5)
        weather = bad_weather(dice) if bad else light(dice)
    else:
        weather = bad_weather(dice) if dice.random() < 0.5 else Weather(fast=fast(dice))
    faults = some_faults(dice, kinds, 4) if kinds else ()
    if set_back and troubles is not LOSING:  # both at once, and nothing is promised of versions
        faults += (Fault(dice.uniform(0, LASTS), "wall", amount=-dice.uniform(0, 8)),)
    return _Trouble(weather, faults)


def _plan(dice: Random, trouble: _Trouble, job: Callable[[], Job], *, most_jobs: int = 3) -> Plan:
    weather, faults = trouble
    struck = dice.random() < 0.4
    count = dice.randrange(2, 6)
    members = tuple(_member(dice, number, job, most_jobs, struck=struck) for number in range(count))
    aimed = tuple(fault._replace(who=fault.who % count) for fault in faults)
    host = Host(rate=dice.choice((1.0, FAST, SLOW)), knows_dead=dice.random() < 0.3)
    return Plan(members, aimed, weather, host, heals_at=LASTS)


def _member(
    dice: Random, number: int, job: Callable[[], Job], most_jobs: int, *, struck: bool
) -> Member:
    style: Style = "aio" if dice.random() < 0.5 else "sync"
    callers = dice.choice((1, 1, 2, 3))
    jobs = tuple(
        tuple(job() for _ in range(dice.randrange(1, most_jobs + 1))) for _ in range(callers)
    )
    strikes = (
        tuple(one for _ in range(dice.randrange(1, 4)) for one in blows(dice, callers))
        if struck
        else ()
    )
    return Member(
        number,
        style,
        jobs,
        rate=dice.choice((1.0, FAST, SLOW)),
        base=1000.0 * number,
        starts_at=dice.random(),
        call_limit=dice.choice((0.5, 2.0, 5.0)),
        strikes=strikes,
        closes=dice.random() < 0.5,
    )
