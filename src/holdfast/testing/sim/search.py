"""Run seeds through worlds until something breaks, and tell the shortest history of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.testing.sim.plan import Plan
from holdfast.testing.sim.shrink import shrink
from holdfast.testing.sim.timeline import tell
from holdfast.testing.sim.watch import Violation
from holdfast.testing.sim.world import World
from holdfast.testing.sim.worlds import WORLDS, draw

LINES = 120
"""How many of the last lines of a timeline are shown."""


class Finding(NamedTuple):
    """A seed that breaks something."""

    world: str
    seed: int
    plan: Plan
    violation: Violation

    def shortest(self) -> Plan:
        """Give the shortest plan found that breaks the same invariant."""
        return shrink(self.plan, self.violation.invariant)

    def story(self) -> str:
        """Tell it to a person: the seed, the shrunken plan, and who believed what when."""
        plan = self.shortest()
        world = World(plan, traced=True)
        violation = world.run()
        lines = [
            f"world {self.world}, seed {self.seed}: {self.violation}",
            f"the shortest history found: {violation}",
            *described(plan),
            *tell(world.trace or [], LINES),
            f"again: python -m holdfast.testing.sim --world {self.world} --seed {self.seed}",
        ]
        return "\n".join(lines)


class Tally(NamedTuple):
    """What a search has cost so far."""

    seeds: int
    events: int
    entries: int
    cpu: float

    def __str__(self) -> str:
        rate = self.events / self.cpu if self.cpu else 0.0
        return (
            f"{self.seeds} seeds, {self.events} events, {self.entries} leases,"
            f" {rate:.0f} events a second of CPU time"
        )


def run_seed(world: str, seed: int) -> World:
    """Run one seed of one world to its end."""
    played = World(draw(world, seed))
    played.run()
    return played


def explore(worlds: Iterable[str], seeds: Iterable[int]) -> Iterator[tuple[Tally, Finding | None]]:
    """Run each seed in its turn through one of the worlds; say after each what came of it."""
    names = tuple(worlds) or tuple(WORLDS)
    begun = time.process_time()
    events = entries = 0
    for count, seed in enumerate(seeds, 1):
        name = names[seed % len(names)]
        played = run_seed(name, seed)
        events += played.scheduler.steps - played.scheduler.stale
        entries += played.watch.entries
        violation = played.watch.violation
        finding = Finding(name, seed, played.plan, violation) if violation is not None else None
        yield Tally(count, events, entries, time.process_time() - begun), finding


def search(worlds: Iterable[str], seeds: Iterable[int]) -> Finding | None:
    """Give the first violation that any of the seeds leads to, or ``None``.

    Each seed is run in one of the worlds, in turn; no worlds are all of them. It runs whatever the
    product is at this moment, also one with a bug put into it on purpose.
    """
    for _, finding in explore(worlds, seeds):
        if finding is not None:
            return finding
    return None


def described(plan: Plan) -> list[str]:
    """Write a plan as lines."""
    lines = [f"  server: {plan.host}", f"  weather: {plan.weather}"]
    for member in plan.members:
        lines.append(
            f"  c{member.number}: {member.style}, clock at {member.rate:g}, from"
            f" {member.starts_at:.3f} s, call_limit {member.call_limit:g}"
        )
        for number, jobs in enumerate(member.jobs):
            lines.extend(f"    caller {number}: {job}" for job in jobs)
        lines.extend(f"    {strike}" for strike in member.strikes)
    lines.extend(f"  {fault}" for fault in plan.faults)
    return lines
