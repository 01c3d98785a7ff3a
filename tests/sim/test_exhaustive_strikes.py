"""A cancellation or interruption at every point there is, one after the other."""

from collections.abc import Callable

import pytest

from holdfast.testing.sim import exhaustive
from holdfast.testing.sim.family_scenarios import EVERY
from holdfast.testing.sim.plan import Plan, Style
from holdfast.testing.sim.scenarios import SCENARIOS

Scenario = Callable[[Style], Plan]

scenarios = pytest.mark.parametrize("scenario", EVERY)
styles = pytest.mark.parametrize("style", ["aio", "sync"])


@styles
@scenarios
def test_struck_at_every_suspension(scenario: Scenario, style: Style) -> None:
    """Cancelled (aio) or interrupted (sync) wherever it waits: nothing is violated or left."""
    count, broken = exhaustive.run(exhaustive.struck(scenario(style)))
    assert count >= 12
    assert broken == []


@styles
@scenarios
def test_struck_again_in_the_clean_up(scenario: Scenario, style: Style) -> None:
    """In aio the clean-up is shielded; in sync it is cut short, and left to the keeper."""
    count, broken = exhaustive.run(exhaustive.twice(scenario(style)))
    assert count >= 24
    assert broken == []


@scenarios
def test_interrupted_at_every_call_of_a_port(scenario: Scenario) -> None:
    """Ctrl-C where nothing waits: between two looks at the clock, in the middle of a release."""
    count, broken = exhaustive.run(exhaustive.interrupted(scenario("sync")))
    assert count >= 5
    assert broken == []


@styles
def test_all_points_are_there(style: Style) -> None:
    """The longest of the stories asks, waits, is told, is kept and releases: all is counted."""
    points = {scenario.__name__: exhaustive.points_of(scenario(style)) for scenario in SCENARIOS}
    assert points["waiting"].asked == 2  # claim, release
    assert points["waiting"].kept == 2  # a place in line, a lease
    assert points["confirming"].asked == 3  # claim, confirm, release
    assert points["renewing"].kept >= 2
    assert all(one.ports > one.suspensions for one in points.values())
