"""Every blow at every point, and every fate of every letter, for what is more than a lock."""

from collections.abc import Callable

import pytest

from holdfast.testing.sim import exhaustive
from holdfast.testing.sim.family_scenarios import SCENARIOS
from holdfast.testing.sim.plan import Plan, Style

Scenario = Callable[[Style], Plan]

scenarios = pytest.mark.parametrize("scenario", SCENARIOS)
styles = pytest.mark.parametrize("style", ["aio", "sync"])


@styles
@scenarios
def test_struck_at_every_suspension(scenario: Scenario, style: Style) -> None:
    """Cancelled or interrupted wherever it waits, once and then again in the clean-up."""
    plan = scenario(style)
    count, broken = exhaustive.run(exhaustive.twice(plan))
    assert count >= 24
    assert broken == []
    assert exhaustive.run(exhaustive.struck(plan))[1] == []


@scenarios
def test_interrupted_at_every_call_of_a_port(scenario: Scenario) -> None:
    """Ctrl-C where nothing waits."""
    count, broken = exhaustive.run(exhaustive.interrupted(scenario("sync")))
    assert count >= 4
    assert broken == []


@styles
@scenarios
def test_every_fate_of_every_letter_of_a_caller(scenario: Scenario, style: Style) -> None:
    """Refused, lost on the way there or back, adrift, late, doubled, torn."""
    count, broken = exhaustive.run(exhaustive.faulted(scenario(style), "asks"))
    assert count >= 2 * len(exhaustive.FATES)
    assert broken == []


@pytest.mark.soak
@pytest.mark.parametrize("wire", ["asks", "keeps"])
@styles
@scenarios
def test_every_fault_and_every_blow(
    scenario: Scenario, style: Style, wire: exhaustive.Wire
) -> None:
    """Any fate of any letter, and a blow at any suspension of what is left of the story."""
    cases = exhaustive.both(exhaustive.faulted(scenario(style), wire), exhaustive.struck)
    assert exhaustive.run(cases)[1] == []
