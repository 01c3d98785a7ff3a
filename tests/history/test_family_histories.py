"""Histories of cells, once keys and rates: right ones pass, wrong ones are found by their rule."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.history.tale import MS, START, Tale

Told = Callable[[Tale], Tale]


def add(tale: Tale, worker: str, span: tuple[float, float], value: int, version: int = 0) -> Tale:
    """Let a worker add to the cell ``c``; versions are ten times the values, unless told."""
    tale.say(worker, span[0], "adding", cell="c")
    done = {"value": value, "version": version or 10 * value}
    return tale.say(worker, span[1], "added", cell="c", **done)


def give(tale: Tale, worker: str, span: tuple[float, float], result: str) -> Tale:
    """Let a worker be given the result of the key ``k``."""
    since = START + round(span[0] * MS)
    return tale.say(worker, span[1], "given", key="k", result=result, since=since)


def work(tale: Tale, worker: str, at: float, since: float = 1.0) -> Tale:
    """Let a worker begin to work on the key ``k``."""
    return tale.say(worker, at, "working", key="k", since=START + round(since * MS))


def complete(tale: Tale, worker: str, at: float, slot: int) -> Tale:
    """Let a worker complete the run of a slot."""
    since = START + round((at - 1) * MS)
    return tale.say(worker, at, "completed", job="j", slot=slot, since=since)


def take(tale: Tale, worker: str, span: tuple[float, float]) -> Tale:
    """Let a worker take one permit of ten a second, two at once."""
    since = START + round(span[0] * MS)
    return tale.say(worker, span[1], "took", limit="q", since=since, rate=10, burst=2)


def steadily(tale: Tale, count: int, every: float) -> Tale:
    """Take that many permits, one after the other."""
    for number in range(count):
        take(tale, "a", (10 + number * every, 10.5 + number * every))
    return tale


RIGHT: dict[str, Told] = {
    "one run per slot": lambda tale: complete(complete(tale, "a", 10, 1), "b", 20, 2),
    "one run per slot, and the clock is set": lambda tale: complete(
        complete(tale, "a", 10, 1).fault(1, "clocks back", (12, 14)), "b", 20, 1
    ),
    "one after the other": lambda tale: add(add(tale, "a", (10, 20), 1), "b", (30, 40), 2),
    "confirmed the other way round": lambda tale: add(
        add(tale, "a", (10, 60), 2), "b", (15, 40), 1
    ),
    "one in between that nobody heard of": lambda tale: add(
        add(tale, "a", (10, 20), 1).say("c", 22, "adding", cell="c"), "b", (30, 40), 3
    ),
    "begun anew after the memory was lost": lambda tale: add(
        add(tale, "a", (10, 20), 1, 99).fault(1, "emptied", (30, 40), loses="records"),
        "b",
        (50, 60),
        1,
    ),
    "one result for two": lambda tale: give(
        give(work(tale, "a", 12), "a", (10, 20), "r"), "b", (11, 30), "r"
    ),
    "done again by whoever took over": lambda tale: give(
        work(work(tale, "a", 12), "b", 40), "b", (11, 60), "r"
    ),
    "done again after it was forgotten": lambda tale: work(
        give(tale, "a", (10, 20), "r").fault(1, "flush", (30, 31), forgets="all"), "b", 40, 35
    ),
    "ten a second": lambda tale: steadily(tale, 60, 100),
    "ten a second, and two at once": lambda tale: take(
        take(steadily(tale, 9, 100), "b", (10, 12)), "c", (10, 900)
    ),
    "twice, around a clock that was set": lambda tale: take(
        take(
            take(take(tale, "a", (1, 2)), "b", (1, 2)).fault(1, "clock ahead", (3, 4)), "a", (5, 6)
        ),
        "b",
        (5, 6),
    ),
}

UPDATES: dict[str, Told] = {
    "two made the same of it": lambda tale: add(
        add(add(tale, "a", (5, 9), 1), "a", (10, 20), 2), "b", (12, 22), 2, 21
    ),
    "one version twice": lambda tale: add(
        add(add(tale, "a", (5, 9), 1), "a", (10, 20), 2), "b", (12, 22), 2
    ),
    "a newer version with a smaller value": lambda tale: add(
        add(add(tale, "a", (5, 9), 1), "a", (10, 20), 2), "b", (30, 40), 1, 30
    ),
    "an older version after a newer one": lambda tale: add(
        add(add(tale, "a", (5, 9), 1), "a", (10, 20), 3), "b", (30, 40), 2
    ),
    "more than were begun": lambda tale: add(tale, "a", (10, 20), 2),
    "more than were not undone": lambda tale: add(
        tale.say("b", 5, "adding", cell="c").say("b", 8, "unadded", cell="c", known=True),
        "a",
        (10, 20),
        2,
    ),
}

RESULTS: dict[str, Told] = {
    "two results": lambda tale: give(give(tale, "a", (10, 20), "r"), "b", (11, 30), "s"),
    "worked on again": lambda tale: work(give(tale, "a", (10, 20), "r"), "b", 30),
    "worked on while others had it": lambda tale: work(
        give(work(tale, "a", 12), "a", (10, 20), "r"), "b", 21, 11
    ),
}

SLOTS: dict[str, Told] = {
    "a slot is completed twice": lambda tale: complete(complete(tale, "a", 10, 1), "b", 20, 1),
}

RATES: dict[str, Told] = {
    "three at once": lambda tale: take(
        take(take(tale, "a", (10, 11)), "b", (10, 12)), "c", (11, 13)
    ),
    "a little too quick for long": lambda tale: steadily(tale, 400, 97),
    "one too many among many": lambda tale: take(
        take(take(steadily(tale, 50, 100), "b", (2511, 2512)), "c", (2511, 2513)), "d", (2511, 2514)
    ),
}

WRONG = [
    pytest.param(rule, told, id=f"{rule}: {name}")
    for rule, tales in {
        "updates": UPDATES,
        "results": RESULTS,
        "slots": SLOTS,
        "rates": RATES,
    }.items()
    for name, told in tales.items()
]


@pytest.mark.parametrize("told", RIGHT.values(), ids=RIGHT)
def test_a_right_history_is_right(told: Told, tmp_path: Path) -> None:
    """Nobody is accused."""
    verdict = told(Tale(tmp_path)).judged()
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("rule, told", WRONG)
def test_a_wrong_history_is_found(rule: str, told: Told, tmp_path: Path) -> None:
    """By the rule that is about it, with the lines that prove it."""
    verdict = told(Tale(tmp_path)).judged()
    assert set(verdict.found) == {rule}, str(verdict)
    assert all(violation.proofs for violation in verdict.violations)
