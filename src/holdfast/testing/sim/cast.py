"""Who plays in a drawn world: clients, and what their callers do under which names."""

from __future__ import annotations

from math import inf
from random import Random

from holdfast.rules.messages import Want
from holdfast.testing.sim.plan import Hold, Inspect, Job, Leaving, Member, Strike, Style
from holdfast.values import Kind

Terms = tuple[str, Kind, int]
"""A name, what it is used as, and its capacity."""

TTLS = (0.5, 1.0, 2.0, 4.0, 8.0, 30.0)
SHARES = 8
"""The capacity of a readers/writer name: a reader takes one share, a writer all."""


def names(dice: Random) -> tuple[Terms, ...]:
    """Draw one or two names, mostly locks."""
    kinds: tuple[tuple[Kind, int], ...] = (
        ("lock", 1), ("lock", 1), ("lead", 1), ("rwlock", SHARES), ("semaphore", 3),
    )  # fmt: skip
    return tuple((name, *dice.choice(kinds)) for name in ("a", "b")[: dice.randrange(1, 3)])


def member(
    dice: Random,
    number: int,
    terms: tuple[Terms, ...],
    longest_ttl: float,
    *,
    struck: bool,
    breaker: bool,
    freezing: bool,
) -> Member:
    """Draw one client."""
    style: Style = "aio" if dice.random() < 0.5 else "sync"
    callers = dice.choice((1, 1, 2, 3))
    jobs = tuple(
        tuple(
            _job(dice, terms, longest_ttl, breaker=breaker, freezing=freezing)
            for _ in range(dice.randrange(1, 5))
        )
        for _ in range(callers)
    )
    strikes: tuple[Strike, ...] = ()
    if struck:
        strikes = tuple(one for _ in range(dice.randrange(1, 4)) for one in blows(dice, callers))
    return Member(
        number,
        style,
        jobs,
        starts_at=dice.random(),
        call_limit=dice.choice((0.5, 2.0, 5.0)),
        strikes=strikes,
        closes=dice.random() < 0.5,
    )


def blows(dice: Random, callers: int) -> list[Strike]:
    """Draw a cancellation, and sometimes another one that meets the clean-up."""
    caller, suspension = dice.randrange(callers), dice.randrange(1, 25)
    blows = [Strike(caller, suspension, dice.choice((0.0, 0.0, 0.001, 0.5)) * dice.random())]
    while dice.random() < 0.4:
        suspension += 1
        blows.append(Strike(caller, suspension, dice.choice((0.0, 0.001)) * dice.random()))
    return blows


def _job(
    dice: Random,
    terms: tuple[Terms, ...],
    longest_ttl: float,
    *,
    breaker: bool,
    freezing: bool,
) -> Job:
    name, kind, capacity = dice.choice(terms)
    before = dice.random() ** 2 * 2
    if breaker and dice.random() < 0.3:
        return Inspect(name, before, dice.choice(("break", "force", "show", "list")))
    weight = capacity
    if kind == "rwlock" and dice.random() < 0.6:
        weight = 1
    elif kind == "semaphore":
        weight = dice.choice((1, 1, 2, 3))
    max_hold = dice.choice((inf, inf, inf, 1.5))
    ttl = min(dice.choice([ttl for ttl in TTLS if ttl <= longest_ttl]), max_hold)
    longest = 2.0 if dice.random() < 0.8 else min(6.0, 1.5 * ttl)
    renew = dice.random() < 0.85
    return Hold(
        name,
        Want(kind, capacity, weight, ttl),
        wait=dice.choice((None, None, None, 0.0, 0.5, 4.0)),
        before=before,
        steps=tuple(dice.random() ** 2 * longest for _ in range(dice.randrange(1, 4))),
        freeze=dice.choice((0.0, 0.0, 0.0, 8 * dice.random())) if freezing else 0.0,
        gap=dice.choice((0.0005, 0.002, 0.5 * dice.random())),
        renew=renew,
        max_hold=max_hold,
        extend=dice.choice((0.0, 0.0, 0.0, min(2 * ttl, longest_ttl))) if renew else 0.0,
        watches=dice.random() < 0.1,
        stops=dice.random() < 0.3,
        leaving=_leaving(dice),
    )


def _leaving(dice: Random) -> Leaving:
    drawn = dice.random()
    return "drop" if drawn < 0.04 else "all" if drawn < 0.1 else "release"
