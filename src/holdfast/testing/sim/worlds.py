"""The kinds of worlds that seeds are drawn from, each with troubles of its own.

A world draws a plan from dice: how many clients, what they do, what goes wrong. The names say which
fault is in the foreground; ``storm`` has all of them at once. The next group breaks an assumption
of DESIGN section 2 on purpose: there only what is still promised is checked (see ``promises``). The
last ones are those of the whole family, from ``family_worlds``: there the name says what is done.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from holdfast.testing.sim import cast, family_worlds
from holdfast.testing.sim.plan import Fault, FaultKind, Host, Member, Plan, Quorum
from holdfast.testing.sim.troubles import FAST, LASTS, SLOW, bad_weather, fast, light, some_faults
from holdfast.testing.sim.weather import Weather

Draw: TypeAlias = Callable[[Random], Plan]


def draw(world: str, seed: int) -> Plan:
    """Draw the plan that a seed stands for in a world."""
    dice = Random(f"{world}/{seed}")
    return WORLDS[world](dice)._replace(noise=seed)


def calm(dice: Random) -> Plan:
    """Draw a world in which nothing goes wrong."""
    return _plan(dice, Weather(fast=fast(dice)), ())


def network(dice: Random) -> Plan:
    """Draw a world of slow, lost, doubled and torn letters, and of cut connections."""
    return _plan(dice, bad_weather(dice), some_faults(dice, ("cut",), 3))


def notices(dice: Random) -> Plan:
    """Draw a world in which notices come late, twice or never, and inboxes close."""
    weather = Weather(fast=fast(dice), lost_notice=dice.random(), late_notice=0.3, twice_notice=0.3)
    return _plan(dice, weather, some_faults(dice, ("deaf", "unheard"), 4), crowd=True)


def pauses(dice: Random) -> Plan:
    """Draw a world whose processes are stopped and go on, also right after a check."""
    return _plan(dice, light(dice), some_faults(dice, ("pause",), 6), freezing=True)


def crashes(dice: Random) -> Plan:
    """Draw a world whose processes die, or their keepers alone."""
    faults = some_faults(dice, ("crash", "keeper", "pause"), 4)
    return _plan(dice, light(dice), faults, host=Host(knows_dead=dice.random() < 0.5))


def restarts(dice: Random) -> Plan:
    """Draw a world whose server goes away and comes back with all it knew."""
    return _plan(dice, light(dice), some_faults(dice, ("restart", "pause"), 4))


def amnesia(dice: Random) -> Plan:
    """Draw a world whose server comes back without its memory, and waits out its quarantine."""
    faults = some_faults(dice, ("forget",), 2) + some_faults(dice, ("pause", "cut"), 2)
    quarantine = dice.choice((4.0, 10.0))
    return _plan(dice, light(dice), faults, host=Host(quarantine=quarantine), longest_ttl=4.0)


def clocks(dice: Random) -> Plan:
    """Draw a world of drifting clocks, in which the server's is also set back."""
    host = Host(rate=dice.choice((FAST, SLOW, 1.0)), one_clock=dice.random() < 0.5)
    faults = [
        Fault(dice.uniform(0, LASTS), "wall", amount=-dice.uniform(0, 8))
        for _ in range(dice.randrange(3))
    ]
    faults += some_faults(dice, ("pause", "cut", "crash"), 3)
    return _plan(dice, light(dice), tuple(faults), host=host)


def cancels(dice: Random) -> Plan:
    """Draw a world whose callers are cancelled and interrupted, also when letters are lost."""
    weather = bad_weather(dice) if dice.random() < 0.5 else light(dice)
    return _plan(dice, weather, some_faults(dice, ("cut",), 1), struck=True)


def forks(dice: Random) -> Plan:
    """Draw a world whose processes fork in the middle of their work."""
    return _plan(dice, light(dice), some_faults(dice, ("fork", "pause"), 3))


def breaks(dice: Random) -> Plan:
    """Draw a world with operators who break locks, gently and by force."""
    return _plan(dice, light(dice), some_faults(dice, ("pause", "unheard"), 2), breakers=True)


def storm(dice: Random) -> Plan:
    """Draw a world in which everything goes wrong that is assumed to be possible."""
    kinds: tuple[FaultKind, ...] = (
        "pause", "crash", "fork", "cut", "deaf", "unheard", "restart", "pause", "forget",
    )  # fmt: skip
    host = Host(rate=dice.choice((FAST, SLOW)), knows_dead=dice.random() < 0.3)
    return _plan(
        dice,
        bad_weather(dice),
        some_faults(dice, kinds, 8),
        host=host,
        struck=True,
        breakers=dice.random() < 0.5,
        freezing=dice.random() < 0.5,
        longest_ttl=8.0,
    )


def rollback(dice: Random) -> Plan:
    """Break an assumption: the server comes back with an older snapshot."""
    faults = tuple(
        fault._replace(amount=dice.uniform(0.1, 4.0))
        for fault in some_faults(dice, ("rollback",), 3)
    )
    return _plan(dice, light(dice), faults + some_faults(dice, ("pause",), 2))


def oblivion(dice: Random) -> Plan:
    """Break an assumption: the memory is lost, no quarantine is kept, the clock may be set back."""
    faults = some_faults(dice, ("forget",), 3) + some_faults(dice, ("pause", "crash"), 2)
    if dice.random() < 0.5:
        faults += (Fault(dice.uniform(0, LASTS), "wall", amount=-dice.uniform(1, 30)),)
    return _plan(dice, light(dice), faults, host=Host(quarantine=0.0))


def leaps(dice: Random) -> Plan:
    """Break an assumption: the server's lease clock is set forward."""
    faults = [
        Fault(dice.uniform(0, LASTS), "leap", amount=dice.uniform(0.5, 20))
        for _ in range(dice.randrange(1, 4))
    ]
    return _plan(dice, light(dice), tuple(faults) + some_faults(dice, ("pause",), 2))


def races(dice: Random) -> Plan:
    """Break an assumption: clocks whose rates differ by much more than one percent."""
    return _plan(dice, light(dice), some_faults(dice, ("pause",), 3), host=Host(rate=1.1))


def minority(dice: Random) -> Plan:
    """Draw a quorum of which a minority fails again and again, with clocks far apart."""
    quorum = Quorum(dice.choice((3, 5, 7)), skew=dice.choice((0.0, -600.0, 600.0)))
    plan = _quorum_plan(dice, quorum, light(dice), ("pause", "cut", "crash"))
    spare = quorum.nodes // 2
    return plan._replace(faults=plan.faults + _restarts(dice, range(spare)))


def rolling(dice: Random) -> Plan:
    """Draw a quorum whose servers restart one after the other, more of them than may be missed."""
    quorum = Quorum(dice.choice((3, 5, 7)))
    plan = _quorum_plan(dice, quorum, light(dice), ("pause",))
    return plan._replace(faults=plan.faults + _restarts(dice, range(quorum.nodes)))


def votes(dice: Random) -> Plan:
    """Draw a quorum in bad weather: lost votes, late votes, votes that come twice, and blows."""
    quorum = Quorum(dice.choice((3, 5, 7)))
    plan = _quorum_plan(dice, quorum, bad_weather(dice), ("pause", "cut", "crash"), struck=True)
    return plan._replace(faults=plan.faults + _restarts(dice, range(quorum.nodes // 2)))


WORLDS: dict[str, Draw] = {
    one.__name__: one
    for one in (
        calm, network, notices, pauses, crashes, restarts, amnesia, clocks, cancels, forks, breaks,
        storm, minority, rolling, votes, rollback, oblivion, leaps, races,
    )
}  # fmt: skip
"""Every kind of world by its name."""

CLAIMS = tuple(WORLDS)
"""Those in which single names are taken."""

FAMILY = tuple(one.__name__ for one in family_worlds.WORLDS)
"""Those of everything that is more than a lock."""

WORLDS.update((one.__name__, one) for one in (*family_worlds.WORLDS, family_worlds.lapses))

SOUND = tuple(name for name in WORLDS if name not in {"rollback", "oblivion", "leaps", "races"})
"""Those that keep every assumption."""


def _plan(
    dice: Random,
    weather: Weather,
    faults: tuple[Fault, ...],
    *,
    host: Host | None = None,
    longest_ttl: float = 30.0,
    crowd: bool = False,
    struck: bool = False,
    breakers: bool = False,
    freezing: bool = False,
    names: tuple[cast.Terms, ...] = (),
) -> Plan:
    names = names or cast.names(dice)
    count = dice.randrange(3, 6) if crowd else dice.randrange(2, 5)
    host = host or Host(rate=dice.choice((1.0, FAST, SLOW)))
    members: list[Member] = []
    for number in range(count):
        member = cast.member(
            dice,
            number,
            names,
            longest_ttl,
            struck=struck,
            breaker=breakers,
            freezing=freezing,
        )
        members.append(member._replace(rate=dice.choice((1.0, FAST, SLOW)), base=1000.0 * number))
    aimed = tuple(fault._replace(who=fault.who % count) for fault in faults)
    return Plan(tuple(members), aimed, weather, host, heals_at=LASTS)


def _quorum_plan(
    dice: Random,
    quorum: Quorum,
    weather: Weather,
    kinds: tuple[FaultKind, ...],
    *,
    struck: bool = False,
) -> Plan:
    """Draw who plays before a quorum: locks and leaders alone, none of whose leases is long."""
    known: tuple[cast.Terms, ...] = (("a", "lock", 1), ("b", "lead", 1))
    names = known[: dice.randrange(1, 3)]
    host = Host(rate=dice.choice((1.0, FAST, SLOW)), quarantine=dice.choice((5.0, 10.0)))
    weather = weather._replace(fast=min(weather.fast, 0.02))
    plan = _plan(
        dice,
        weather,
        some_faults(dice, kinds, 3),
        host=host,
        longest_ttl=4.0,
        struck=struck,
        names=names,
    )
    return plan._replace(quorum=quorum)


def _restarts(dice: Random, voters: range) -> tuple[Fault, ...]:
    """Let some of these voters restart, with or without what they knew."""
    kinds: tuple[FaultKind, ...] = ("restart", "forget", "forget", "rollback")
    return tuple(
        fault._replace(who=dice.choice(voters), amount=dice.uniform(0.1, 4.0))
        for fault in some_faults(dice, kinds, 5)
    )
