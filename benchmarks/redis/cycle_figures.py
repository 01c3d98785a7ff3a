"""The lines of the lock cycles: holdfast against the bare wire, and against each peer."""

from collections.abc import Mapping
from statistics import median

from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.ours import FRESH, REUSED
from benchmarks.rounds import Samples, median_ratio

BARE = "bare wire"


def at_least(times: float | None) -> Aim | None:
    """Give the aim of being so many times as quick, if there is one."""
    return None if times is None else Aim("at least", Value(times, "times"))


def figures(what: str, rates: Samples, aims: Mapping[str, float]) -> list[Figure]:
    """Set both ways of using holdfast against the wire, and the reused one against the peers."""
    rivals = [rival for rival in rates if rival not in {BARE, REUSED, FRESH}]
    pairs = [(REUSED, BARE), (FRESH, BARE), *((REUSED, rival) for rival in rivals)]
    return [
        Figure(
            what=f"{what}, {ours}",
            ours=Value(median(rates[ours]), "cycles/s"),
            against=theirs,
            theirs=Value(median(rates[theirs]), "cycles/s"),
            result=Value(median_ratio(rates[ours], rates[theirs]), "times"),
            aim=at_least(aims.get(theirs)),
        )
        for ours, theirs in pairs
    ]
