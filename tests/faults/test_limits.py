"""Sixteen processes against one limiter: never more than the rate in any window, and all of it."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pytest

from tests.faults.processes import Program
from tests.faults.test_slots import BACKENDS, EVERYWHERE

PROCESSES, RATE, BURST = 16, 100, 5
SPAN = 0.5

Moment = tuple[float, float]
"""Between which two points in time a permit was due."""


def taken(url: str, folder: Path, seconds: float) -> tuple[list[Moment], list[float]]:
    """Let all processes take permits; give when they were due and when they were there."""
    plan = {"url": url, "name": f"quota:{folder}", "rate": f"{RATE}/s", "burst": BURST}
    due: list[Moment] = []
    got: list[float] = []
    with ExitStack() as stack:
        takers = [
            stack.enter_context(Program("taking", seconds=seconds, **plan))
            for _ in range(PROCESSES)
        ]
        for taker in takers:
            taker.hear(60)
        for taker in takers:
            taker.say()
        for taker in takers:
            said = taker.hear(60)
            due += [(first, last) for first, last in said["due"]]
            got += said["got"]
    return sorted(due), sorted(got)


def most_in_excess(due: list[Moment]) -> float:
    """Give by how many permits the worst of all windows exceeds what the rate allows in it."""
    worst = -float(BURST)
    by_end = sorted(due, key=lambda moment: moment[1])
    for start, _ in due:
        count = 0
        for first, last in by_end:
            if first >= start:
                count += 1
                worst = max(worst, count - BURST - RATE * (last - start))
    return worst


def assert_the_rate_is_kept_and_used(due: list[Moment], got: list[float], seconds: float) -> None:
    """See that no window has too many, none came too early, and nearly all were used."""
    assert most_in_excess(due) <= 1e-3 * RATE  # the sleeper's clock and the backend's, a ms apart
    earliest = due[0][0]
    early = [
        number - BURST - RATE * (at - earliest) for number, at in enumerate(got, 1)
    ]  # counted from the first of all, nobody was there before its time
    assert max(early) <= 1e-3 * RATE
    # By half seconds: the machine may stand still for one of them.
    used = Counter(int((at - earliest) / SPAN) for at in got)
    usually = median(used[number] for number in range(int(seconds / SPAN)))
    assert usually >= 0.97 * RATE * SPAN, used


@pytest.mark.serial
@pytest.mark.timeout(120)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_rate_is_kept_and_used(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """For four seconds."""
    due, got = taken(backend(tmp_path), tmp_path, 4.0)
    assert_the_rate_is_kept_and_used(due, got, 3.5)


@pytest.mark.soak
@pytest.mark.parametrize("backend", EVERYWHERE)
def test_the_rate_is_kept_and_used_for_longer(
    backend: Callable[[Path], str], tmp_path: Path
) -> None:
    """For ten seconds."""
    due, got = taken(backend(tmp_path), tmp_path, 10.5)
    assert_the_rate_is_kept_and_used(due, got, 10.0)


def test_an_excess_would_be_seen() -> None:
    """A permit too many in a window fails the check; one that may have been later does not."""
    steady = [(0.01 * number, 0.01 * number) for number in range(100)]
    assert most_in_excess(steady) < 0.01
    assert most_in_excess([*steady, *[(0.5, 0.5)] * 6]) > 1
    assert most_in_excess(sorted([*steady, *[(0.5, 0.9)] * 4])) < 0.01
