"""How much of each Redis workload is measured: all of it, or just enough to see that it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes that decide how long a run takes."""

    rounds: int
    turn_for: float
    """How long one rival works in one round, the same for all."""
    threads: tuple[int, ...]
    tasks: tuple[int, ...]
    waiters: tuple[int, ...]
    """How many contend for one name; the last is set against the first."""
    contest_rounds: int
    contest_for: float
    blocked: int
    blocked_for: float
    """Not a whole number: what happens once a second is then never counted one too often."""
    leases: int
    ttl: float
    held: int
    acquires: int


FULL = Scale(
    rounds=9,
    turn_for=0.3,
    threads=(1, 16),
    tasks=(1, 100, 1000),
    waiters=(2, 10, 100),
    contest_rounds=7,
    contest_for=1.0,
    blocked=1000,
    blocked_for=8.5,
    leases=10_000,
    ttl=10.0,
    held=1_000_000,
    acquires=3000,
)
QUICK = Scale(
    rounds=2,
    turn_for=0.05,
    threads=(1, 4),
    tasks=(1, 20, 100),
    waiters=(2, 6),
    contest_rounds=1,
    contest_for=0.25,
    blocked=50,
    blocked_for=1.0,
    leases=1000,
    ttl=2.0,
    held=20_000,
    acquires=200,
)
