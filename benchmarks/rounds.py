"""Measuring rivals fairly on a noisy machine: in turn, round by round, and by the median.

Whatever disturbs the machine for a while meets all rivals alike, and the ratio of two is taken
round by round, between neighbours in time, before the median is.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles

Samples = Mapping[str, Sequence[float]]


def interleaved(rivals: Mapping[str, Callable[[], float]], rounds: int) -> Samples:
    """Let each rival give ``rounds`` samples, A B A B; one more at first warms up, unmeasured."""
    samples: dict[str, list[float]] = {name: [] for name in rivals}
    order = list(rivals)
    for rival in rivals.values():
        rival()
    for _ in range(rounds):
        for name in order:
            samples[name].append(rivals[name]())
        order.append(order.pop(0))  # nobody always follows the same one
    return samples


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Say how large ours is against theirs, from pairs of neighbouring samples."""
    return median(our / their for our, their in zip(ours, theirs, strict=True))


def median_difference(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Say how much larger ours is than theirs, from pairs of neighbouring samples."""
    return median(our - their for our, their in zip(ours, theirs, strict=True))


def percentile(samples: Sequence[float], percent: int) -> float:
    """Give the value that ``percent`` of the samples do not exceed."""
    return quantiles(samples, n=100, method="inclusive")[percent - 1]


def per_second(work: Callable[[], object], seconds: float) -> float:
    """Do ``work`` again and again for that long; give how often a second it was done."""
    started_at = now = time.perf_counter()
    until = started_at + seconds
    times = 0
    while now < until:
        work()
        times += 1
        now = time.perf_counter()
    return times / (now - started_at)
