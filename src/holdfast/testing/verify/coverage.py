"""Which primitives a trial puts to the test on a backend, and how often each of them was judged.

What holds a name is counted by the leases that were granted; the others by what their own rule had
to decide: updates of cells, results of once keys, completed runs of slots, permits of a rate.
"""

from __future__ import annotations

from collections import Counter

from holdfast.testing.history.verdict import Verdict
from holdfast.testing.workload.kinds import kind_of
from holdfast.values import KINDS, Capabilities

NAMES = ("a", "b", "c", "semaphore:s", "rwlock:r", "lead:l")
"""What the workers want; what a backend cannot do is left out."""

BY_RULE = {"cell": "updates", "once": "results", "singleton": "slots", "limiter": "rates"}

EVERY = (*KINDS, *BY_RULE)


def names_on(can: Capabilities) -> tuple[str, ...]:
    """Give the names that the workers can want there."""
    return tuple(name for name in NAMES if kind_of(name) in can.kinds)


def possible(can: Capabilities) -> list[str]:
    """List the primitives that a backend has."""
    kept = ["cell", "once", "singleton"] * can.records
    return [*can.kinds, *kept, *["limiter"] * can.buckets]


def impossible(can: Capabilities) -> list[str]:
    """List those that it does not have."""
    has = possible(can)
    return [one for one in EVERY if one not in has]


def judged(verdict: Verdict, can: Capabilities) -> dict[str, int]:
    """Count what was judged of each primitive that the backend has, be it nothing."""
    counts: Counter[str] = Counter()
    for name, count in verdict.granted.items():
        counts[kind_of(name)] += count
    for one, rule in BY_RULE.items():
        counts[one] = verdict.judged[rule]
    return {one: counts[one] for one in possible(can)}
