"""How much of each PostgreSQL workload is measured: all of it, or just enough to see it run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes that decide how long a run takes."""

    rounds: int
    turn_for: float
    """How long one rival works in one round, the same for all."""
    tasks: tuple[int, ...]
    passes: int
    """How often a lock changes hands in one round."""
    blocked: int
    leases: int
    counted_for: float
    """Not a whole number: what happens once a second is then never counted one too often."""
    settle_for: float
    """An idle session keeps its counts to itself for up to ten seconds."""
    held: int
    acquires: int
    cycles: int
    """After how many on a hundred names the table is weighed."""


FULL = Scale(
    rounds=7,
    turn_for=0.5,
    tasks=(1, 100, 1000),
    passes=200,
    blocked=1000,
    leases=1000,
    counted_for=8.5,
    settle_for=11.5,
    held=1_000_000,
    acquires=1100,
    cycles=1_000_000,
)
QUICK = Scale(
    rounds=2,
    turn_for=0.05,
    tasks=(1, 20),
    passes=10,
    blocked=30,
    leases=30,
    counted_for=1.5,
    settle_for=0.5,
    held=2_000,
    acquires=44,
    cycles=400,
)
