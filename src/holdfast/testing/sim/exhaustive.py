"""Disturb a small world at every point there is, one after the other.

``struck`` cancels or interrupts the first caller of client 0 wherever it is suspended, ``twice``
strikes the clean-up too, ``interrupted`` raises Ctrl-C in every call of a port, ``faulted`` does to
each letter everything that can become of it, and ``both`` does one upon the other. Each gives plans
to be run, and each of them must run clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from holdfast.testing.sim.plan import Member, Plan, Strike
from holdfast.testing.sim.watch import Violation
from holdfast.testing.sim.weather import Fate
from holdfast.testing.sim.world import World

Wire: TypeAlias = Literal["asks", "keeps"]

BEFORE = 0.0
UNDER_WAY = 0.0005
APPLIED = 0.0015
"""When a strike meets a letter that takes a millisecond there and another back."""

FATES = {
    "refused": Fate(0.001, 0.001, refused=True),
    "request lost": Fate(0.001, 0.001, arrives=False),
    "request lost, cut": Fate(0.001, 0.001, arrives=False, cut=0.002),
    "reply lost": Fate(0.001, 0.001, answered=False),
    "reply lost, cut": Fate(0.001, 0.001, answered=False, cut=0.002),
    "request adrift": Fate(0.3, 0.001, answered=False, cut=0.002),
    "request late": Fate(2.5, 0.001),
    "reply late": Fate(0.001, 0.4),
    "reply very late": Fate(0.001, 2.5),
    "twice": Fate(0.001, 0.001, again=0.5),
    "torn": Fate(0.001, 0.001, torn=True, cut=0.002),
}
"""What can become of one letter."""


class Case(NamedTuple):
    """A disturbed plan, and where it is disturbed."""

    label: str
    plan: Plan


class Points(NamedTuple):
    """How many points an undisturbed run has."""

    suspensions: int
    ports: int
    asked: int
    kept: int


def points_of(plan: Plan) -> Points:
    """Run a plan undisturbed, and count where it could have been disturbed."""
    never = plan.members[0]._replace(interrupt_at=10**9)
    world = World(_with_first(plan, never))
    violation = world.run()
    if violation is not None:
        raise AssertionError(str(violation))
    client = world.clients[0]
    return Points(
        world.turns["c0/caller 0"],
        client.runtime.calls,
        client.network.sent,
        client.keeper_network.sent,
    )


def struck(plan: Plan) -> Iterator[Case]:
    """Strike at every suspension: at once, while the letter is under way, and when it is done."""
    for suspension in range(1, points_of(plan).suspensions):
        for after in (BEFORE, UNDER_WAY, APPLIED):
            first = plan.members[0]._replace(strikes=(Strike(0, suspension, after),))
            yield Case(f"struck {after:g} s into suspension {suspension}", _with_first(plan, first))


def twice(plan: Plan) -> Iterator[Case]:
    """Strike at every suspension, and strike what follows as well."""
    for case in struck(plan):
        first = case.plan.members[0]
        [blow] = first.strikes
        for after in (BEFORE, APPLIED):
            second = Strike(0, blow.suspension + 1, after)
            again = first._replace(strikes=(blow, second))
            yield Case(f"{case.label}, and again after {after:g} s", _with_first(plan, again))


def interrupted(plan: Plan) -> Iterator[Case]:
    """Raise Ctrl-C in every call of a port that does not suspend."""
    for call in range(1, points_of(plan).ports + 1):
        first = plan.members[0]._replace(interrupt_at=call)
        yield Case(f"interrupted at call {call} of a port", _with_first(plan, first))


def faulted(plan: Plan, wire: Wire) -> Iterator[Case]:
    """Let everything happen to each letter of the callers, or of the keeper, that can happen."""
    points = points_of(plan)
    for number in range(points.asked if wire == "asks" else points.kept):
        for name, fate in FATES.items():
            first = plan.members[0]
            fates = ((number, fate),)
            first = first._replace(asks=fates) if wire == "asks" else first._replace(keeps=fates)
            yield Case(f"letter {number} of {wire}: {name}", _with_first(plan, first))


def both(first: Iterable[Case], then: Callable[[Plan], Iterator[Case]]) -> Iterator[Case]:
    """Disturb each disturbed plan again, at every point that it has now."""
    for case in first:
        for again in then(case.plan):
            yield Case(f"{case.label}; {again.label}", again.plan)


def run(cases: Iterable[Case]) -> tuple[int, list[tuple[str, Violation]]]:
    """Run all cases; give their number, and what broke."""
    count = 0
    broken: list[tuple[str, Violation]] = []
    for case in cases:
        count += 1
        violation = World(case.plan).run()
        if violation is not None:
            broken.append((case.label, violation))
    return count, broken


def _with_first(plan: Plan, first: Member) -> Plan:
    return plan._replace(members=(first, *plan.members[1:]))
