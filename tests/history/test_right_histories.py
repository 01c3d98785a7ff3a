"""Right histories are not accused of anything, whatever is unusual about them."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.tale import Tale
from tests.history.world import World

LIMITS: dict[str, Any] = {"waiting_limit": 60.0, "idle_limit": 2.0, "recovery": 2.0}
LIMITS["telling_slack"] = 0.4

UNUSUAL: dict[str, Callable[[Tale], Tale]] = {
    "they touch and do not overlap": lambda tale: tale.hold("a", 1, (10, 50), checks=(49,)).hold(
        "b", 2, (49, 60), checks=(55,)
    ),
    "believed, but never checked": lambda tale: tale.hold("a", 1, (10, 50)).hold(
        "b", 2, (30, 60), checks=(45,)
    ),
    "a paused holder finds out": lambda tale: (
        tale.hold("a", 1, (10, 3000), checks=(20,), how="lost")
        .say("a", 2900, "lost", n=1, told=True, why="")
        .hold("b", 2, (1500, 3500), checks=(3400,))
        .fault(1, "pause", (30, 2800), ("a",))
    ),
    "a pause shorter than the lease": lambda tale: tale.hold(
        "a", 1, (10, 3000), checks=(20, 900)
    ).fault(1, "pause", (30, 800), ("a",)),
    "the held record comes late, after a pause": lambda tale: (
        tale.ask("a", 1)
        .hold("b", 6, (1500, 1600), checks=(1550,))
        .say("a", 2000, "held", n=1, token=5)
        .say("a", 2010, "lost", n=1, told=True, why="")
        .say("a", 2020, "left", n=1, since=0, how="lost")
    ),
    "readers together": lambda tale: tale.hold("a", 1, (10, 50), checks=(40,), capacity=100).hold(
        "b", 2, (30, 60), checks=(45,), capacity=100
    ),
    "broken by force, and the holder does not know yet": lambda tale: (
        tale.hold("a", 1, (10, 100), checks=(40, 90))
        .say("c", 50, "breaking", name="x", token=1, force=True)
        .say("c", 51, "broke", name="x", token=1, force=True, how="done")
        .hold("b", 2, (52, 80), checks=(70,))
    ),
    "tokens of overlapping grants in any order": lambda tale: (
        tale.ask("a", 1)
        .ask("b", 1)
        .say("a", 10, "held", n=1, token=8)
        .say("a", 11, "left", n=1, since=0, how="released")
        .say("b", 12, "held", n=1, token=7)
        .say("b", 13, "left", n=1, since=0, how="released")
    ),
    "an unfenced resource goes back": lambda tale: (
        tale.land(1, 5, 1, fenced=False).land(2, 6, 2, fenced=False).land(3, 5, 2, fenced=False)
    ),
    "refused, and it finds out": lambda tale: (
        tale.hold("a", 5, (10, 50), checks=(15,), how="lost")
        .say("a", 20, "refused", n=1, resource="r", seen=6)
        .say("a", 30, "lost", n=1, told=True, why="")
    ),
    "passed while its place was lost": lambda tale: (
        tale.ask("a", 10)
        .say("a", 12, "queued", n=1)
        .hold("b", 2, (30, 40))
        .say("a", 45, "displaced", n=1, why="")
        .say("a", 50, "held", n=1, token=3)
    ),
    "passed during an outage": lambda tale: (
        tale.ask("a", 10)
        .say("a", 12, "queued", n=1)
        .fault(1, "cut", (20, 21))
        .hold("b", 2, (30, 40))
        .say("a", 50, "held", n=1, token=3)
    ),
    "granted first and heard later": lambda tale: (
        tale.ask("a", 10)
        .say("a", 12, "queued", n=1)
        .ask("b", 20)
        .say("b", 30, "held", n=1, token=3)
        .say("a", 50, "held", n=1, token=2)
        .say("a", 51, "lost", n=1, told=True, why="")
    ),
    "handed over and filled up, though nobody renews it": lambda tale: (
        tale.ask("a", 1, renew=False)
        .say("a", 2, "queued", n=1)
        .say("a", 10, "held", n=1, token=1)
        .say("a", 1900, "checked", n=1)
    ),
    "a long wait in bad weather": lambda tale: (
        tale.ask("a", 1).fault(1, "silence", (10, 90_000)).say("a", 91_000, "held", n=1, token=1)
    ),
    "a killed holder blocks for its life": lambda tale: (
        tale.ask("a", 1)
        .say("a", 10, "held", n=1, token=1)
        .fault(1, "kill", (11, 12), ("a",))
        .ask("b", 20)
        .say("b", 30, "queued", n=1)
        .say("b", 1100, "held", n=1, token=2)
    ),
    "the backend forgot who held": lambda tale: (
        tale.hold("a", 1, (10, 400), checks=(20, 390))
        .hold("b", 2, (100, 300), checks=(110, 290))
        .fault(1, "flush", (90, 91), forgets="all")
    ),
    "told a third of a life after it was forgotten": lambda tale: tale.hold(
        "a", 1, (10, 700), checks=(20, 690)
    ).fault(1, "flush", (90, 91), forgets="all"),
    "forgotten while the holder was paused": lambda tale: (
        tale.hold("a", 1, (10, 1010), checks=(20, 1000))
        .fault(1, "flush", (90, 91), forgets="all")
        .fault(2, "pause", (95, 900), ("a",))
    ),
    "only some grants were forgotten": lambda tale: tale.hold(
        "a", 1, (10, 9000), checks=(20, 8000)
    ).fault(1, "rollback", (90, 91), forgets="some"),
    "a lease that lives longer because a clock was set back": lambda tale: tale.hold(
        "a", 1, (10, 2000), checks=(1900,), renew=False
    ).fault(1, "clock", (90, 5000), stretch=1.0),
    "two wait and nobody is told yet": lambda tale: tale.ask("a", 1).ask("b", 1),
}


@pytest.mark.parametrize("title", UNUSUAL)
def test_unusual_and_right(tmp_path: Path, title: str) -> None:
    """What looks odd and is allowed is not accused."""
    verdict = UNUSUAL[title](Tale(tmp_path)).judged(**LIMITS)
    assert verdict.ok, str(verdict)
    assert verdict.violations == []


@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("in_line", [True, False])
def test_tokens_that_are_drawn_after_the_grant(
    tmp_path: Path, capacity: int, *, in_line: bool
) -> None:
    """They tell who was first of two who cannot hold together, and of others only from a line."""
    tale = (
        Tale(tmp_path)
        .ask("a", 10, capacity=capacity)
        .say("a", 12, "queued", n=1)
        .hold("b", 2, (30, 40), capacity=capacity)
        .say("a", 50, "held", n=1, token=3)
    )
    verdict = tale.judged(tokens_in_line=in_line)
    assert verdict.ok == (capacity > 1 and not in_line), str(verdict)


def played(folder: str, seed: int, workers: int = 6, length: float = 3000.0) -> Tale:
    """Let the world go its way."""
    return World(Tale(Path(folder)), seed, workers=workers, length=length).run()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 12))
def test_what_a_right_world_writes_is_right(seed: int, workers: int) -> None:
    """Whatever happens in a world that keeps its promises, no rule accuses."""
    with tempfile.TemporaryDirectory() as folder:
        verdict = played(folder, seed, workers).judged(ends=False, **LIMITS)
    assert verdict.ok, str(verdict)


def test_every_rule_has_something_to_judge(tmp_path: Path) -> None:
    """The world is not so quiet that a rule could hide in it."""
    verdict = played(str(tmp_path), 1, 10, 30_000).judged(ends=False, **LIMITS)
    assert verdict.ok, str(verdict)
    for rule in (
        "amnesia",
        "updates",
        "results",
        "slots",
        "rates",
    ):  # nothing is forgotten, all are locks
        del verdict.judged[rule]
    assert min(verdict.judged.values()) > 10, verdict.judged
    assert verdict.faults["pause"] > 0
    assert verdict.faults["kill"] > 0
    assert verdict.notes == {}
