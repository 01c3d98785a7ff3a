"""Small worlds in which one client lives through one thing: what is disturbed at every point.

Client 0 is the one that is struck; the others are rivals that make it wait. All clocks agree and
all ways take a millisecond, so that the points of a run can be counted and met again.
"""

from __future__ import annotations

from holdfast.rules.messages import Want
from holdfast.testing.sim.plan import Hold, Job, Member, Plan, Style
from holdfast.testing.sim.weather import Weather

STEADY = Weather(fast=0.001, steady=True)
NOBODY_TELLS = STEADY._replace(lost_notice=1.0)


def lock(ttl: float) -> Want:
    """Want a name for oneself."""
    return Want("lock", 1, 1, ttl)


def taking(style: Style) -> Plan:
    """Take a free name, work, give it back."""
    return _alone(style, Hold("a", lock(2.0), steps=(0.1, 0.1)))


def trying(style: Style) -> Plan:
    """Try a name that somebody has, without waiting, until it is free."""
    rival = Hold("a", lock(2.0), steps=(0.5,))
    return against(style, rival, Hold("a", lock(2.0), wait=0.0, before=0.05))


def waiting(style: Style) -> Plan:
    """Wait in line past a tick of the keeper, be told, start at once and be confirmed later."""
    rival = Hold("a", lock(4.0), steps=(1.3,))
    return against(style, rival, Hold("a", lock(4.0), before=0.05, steps=(1.2,)))


def untold(style: Style) -> Plan:
    """Wait in line without being told, and hear of the grant from the keeper's batch."""
    rival = Hold("a", lock(4.0), steps=(0.7,))
    plan = against(style, rival, Hold("a", lock(4.0), before=0.05))
    return plan._replace(weather=NOBODY_TELLS)


def confirming(style: Style) -> Plan:
    """Be told of a life so short that it must be confirmed before the body starts."""
    rival = Hold("a", lock(0.5), steps=(0.4,))
    return against(style, rival, Hold("a", lock(0.5), before=0.05, steps=(0.3,)))


def giving_up(style: Style) -> Plan:
    """Wait for less time than it takes, and leave the line."""
    rival = Hold("a", lock(4.0), steps=(1.5,))
    return against(style, rival, Hold("a", lock(2.0), wait=0.6, before=0.05, insists=False))


def renewing(style: Style) -> Plan:
    """Hold for longer than the ttl, extend it, and be watched by a rival."""
    mine = Hold("a", lock(0.9), steps=(0.4, 1.0), extend=1.2)
    return against(style, Hold("a", lock(2.0), before=0.2), mine)


def losing(style: Style) -> Plan:
    """Work for longer than a lease that is not renewed, while a rival waits."""
    mine = Hold("a", lock(0.6), steps=(0.5, 0.4), renew=False, stops=True)
    return against(style, Hold("a", lock(2.0), before=0.2), mine)


def sharing(style: Style) -> Plan:
    """Two permits of three, beside others, with a waiter that wants all."""
    mine = Hold("s", Want("semaphore", 3, 2, 1.0), before=0.05, steps=(0.3,))
    rivals = (
        _member(1, "aio", Hold("s", Want("semaphore", 3, 3, 1.0), before=0.1, steps=(0.2,))),
        _member(2, "sync", Hold("s", Want("semaphore", 3, 2, 1.0), steps=(0.25,))),
    )
    return Plan((_member(0, style, mine), *rivals), weather=STEADY, heals_at=5.0)


SCENARIOS = (
    taking, trying, waiting, untold, confirming, giving_up, renewing, losing, sharing,
)  # fmt: skip
"""Each makes a plan for a style."""


def _alone(style: Style, *jobs: Hold) -> Plan:
    return Plan((_member(0, style, *jobs),), weather=STEADY, heals_at=5.0)


def against(style: Style, rival: Job, mine: Job) -> Plan:
    """Let client 0 do what is ``mine``, and a client of the other style be the rival."""
    other: Style = "aio" if style == "sync" else "sync"
    return Plan((_member(0, style, mine), _member(1, other, rival)), weather=STEADY, heals_at=5.0)


def _member(number: int, style: Style, *jobs: Job) -> Member:
    return Member(number, style, (jobs,), base=100.0 * number, call_limit=2.0)
