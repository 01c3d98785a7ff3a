"""What can go wrong in a drawn world: faults, and the weather between clients and server."""

from __future__ import annotations

from random import Random

from holdfast.testing.sim.plan import Fault, FaultKind
from holdfast.testing.sim.weather import Weather

LASTS = 16.0
"""How long faults go on in a drawn world."""

FAST = 0.995
SLOW = 1.005
"""Rates at the edge of what is assumed: a host at one end and a server at the other."""


def some_faults(dice: Random, kinds: tuple[FaultKind, ...], most: int) -> tuple[Fault, ...]:
    """Draw one to ``most`` faults of these kinds."""
    faults = []
    for _ in range(dice.randrange(1, most + 1)):
        span = dice.choice((0.05, 0.3, 1.0, 3.0, 6.0)) * (0.5 + dice.random())
        unseen = float(dice.random() < 0.5)
        at = dice.uniform(0.0, LASTS - 2)
        faults.append(Fault(at, dice.choice(kinds), dice.randrange(8), span, unseen))
    return tuple(faults)


def fast(dice: Random) -> float:
    """Draw how long a usual way takes."""
    return dice.choice((0.0002, 0.002, 0.02, 0.15))


def light(dice: Random) -> Weather:
    """Draw a little bad weather, or none."""
    if dice.random() < 0.5:
        return Weather(fast=fast(dice))
    return Weather(fast=fast(dice), slow=0.05, lost_request=0.02, lost_reply=0.02, lost_notice=0.05)


def bad_weather(dice: Random) -> Weather:
    """Draw weather in which everything can become of a letter."""

    def some() -> float:
        return dice.choice((0.0, 0.02, 0.1, 0.25))

    return Weather(
        fast=fast(dice),
        slow=some(),
        slowest=dice.choice((0.5, 2.0, 6.0)),
        lost_request=some(),
        lost_reply=some(),
        twice=some(),
        torn=dice.choice((0.0, 0.1)),
        adrift=dice.choice((0.0, 0.1)),
        lost_notice=some(),
        late_notice=some(),
        twice_notice=some(),
    )
