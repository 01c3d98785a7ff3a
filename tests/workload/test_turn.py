"""Turns are drawn from dice alone: the same seed, the same script."""

import json
import random

from holdfast.testing.workload.plan import Habits, Plan
from holdfast.testing.workload.turn import Step, Turn

PLAN = Plan(url="memory://", folder="", names=("a", "b"))


def drawn(plan: Plan, seed: str, *, task: bool = False, may_fork: bool = False) -> list[Turn]:
    """Draw a few hundred turns."""
    dice = random.Random(seed)
    return [Turn.drawn(plan, dice, task=task, may_fork=may_fork) for _ in range(500)]


def test_the_same_seed_draws_the_same_turns() -> None:
    """Another seed draws others."""
    assert drawn(PLAN, "1/a") == drawn(PLAN, "1/a")
    assert drawn(PLAN, "1/a") != drawn(PLAN, "2/a")


def test_everything_is_drawn_now_and_then() -> None:
    """Tries, short and long waits, every step, and each habit that fits the kind of worker."""
    tasks, threads = drawn(PLAN, "s", task=True), drawn(PLAN, "s", may_fork=True)
    assert {turn.name for turn in threads} == {"a", "b"}
    assert {turn.wait is None or turn.wait > 0 for turn in threads} == {True, False}
    assert None in {turn.wait for turn in threads}
    assert {step for turn in tasks for step in turn.steps} == {*Step} - {Step.FORK}
    assert {step for turn in threads for step in turn.steps} == {*Step} - {Step.BLOCK}
    for habit in ("errs", "breaks", "renew"):
        assert {getattr(turn, habit) for turn in threads} == {True, False}
    assert {turn.max_hold is None for turn in threads} == {True, False}
    assert {turn.cancel_after is None for turn in tasks} == {True, False}
    assert {turn.cancel_after for turn in threads} == {None}


def test_habits_can_be_given_up() -> None:
    """Without bad habits a turn waits as long as it takes, works and leaves in good order."""
    none = Habits(**dict.fromkeys(Habits.__slots__, 0.0))
    plan = Plan(url="memory://", folder="", habits=none)
    for turn in drawn(plan, "s", task=True, may_fork=True):
        assert (turn.wait, turn.renew, turn.max_hold, turn.cancel_after) == (None, True, None, None)
        assert (turn.errs, turn.breaks) == (False, False)
        assert {*turn.steps} <= {Step.REST, Step.WRITE, Step.SCRIBBLE}


def test_a_plan_survives_its_journey() -> None:
    """What a worker reads is what the crew wrote."""
    order = json.loads(PLAN.to_line("w", "async"))
    assert Plan.of(order["plan"]) == PLAN
    assert (order["worker"], order["mode"]) == ("w", "async")
