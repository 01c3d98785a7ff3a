"""How much of each workload is measured: all of it, or just enough to see that it still runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes that decide how long a run takes."""

    rounds: int
    turn_for: float
    """How long one rival works in one round: the same for all, so that a busy machine interrupts
    all alike, and long enough for several of SQLite's checkpoints, which are part of the price."""
    hand_overs: int
    idle_for: float
    waiters: tuple[int, ...]
    starts: int


FULL = Scale(
    rounds=15, turn_for=0.1, hand_overs=100, idle_for=5.0, waiters=(1, 100, 1000), starts=21
)
QUICK = Scale(rounds=2, turn_for=0.01, hand_overs=3, idle_for=0.5, waiters=(1, 20), starts=2)
