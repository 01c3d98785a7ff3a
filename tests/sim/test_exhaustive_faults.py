"""Everything that can become of a letter, for every letter there is; and then a blow on top."""

from collections.abc import Callable

import pytest

from holdfast.testing.sim import exhaustive
from holdfast.testing.sim.family_scenarios import EVERY
from holdfast.testing.sim.plan import Plan, Style
from holdfast.testing.sim.scenarios import waiting

Scenario = Callable[[Style], Plan]

scenarios = pytest.mark.parametrize("scenario", EVERY)
styles = pytest.mark.parametrize("style", ["aio", "sync"])


@styles
@scenarios
def test_every_fate_of_every_letter_of_a_caller(scenario: Scenario, style: Style) -> None:
    """Refused, lost on the way there or back, adrift, late, doubled, torn."""
    count, broken = exhaustive.run(exhaustive.faulted(scenario(style), "asks"))
    assert count >= len(exhaustive.FATES)
    assert broken == []


@styles
@scenarios
def test_every_fate_of_every_letter_of_the_keeper(scenario: Scenario, style: Style) -> None:
    """Renewals, places in line and chores are lost like any letter."""
    plan = scenario(style)
    count, broken = exhaustive.run(exhaustive.faulted(plan, "keeps"))
    assert count == len(exhaustive.FATES) * exhaustive.points_of(plan).kept
    assert broken == []


@styles
def test_a_fault_and_a_blow(style: Style) -> None:
    """A letter is lost, and the caller is struck while it finds out."""
    cases = exhaustive.both(exhaustive.faulted(waiting(style), "asks"), exhaustive.struck)
    count, broken = exhaustive.run(cases)
    assert count > 400
    assert broken == []


@pytest.mark.soak
@styles
@scenarios
def test_two_faults_at_once(scenario: Scenario, style: Style) -> None:
    """Any fate of any letter of the callers together with any fate of any of the keeper's."""
    plan = scenario(style)
    cases = exhaustive.both(
        exhaustive.faulted(plan, "asks"), lambda one: exhaustive.faulted(one, "keeps")
    )
    assert exhaustive.run(cases)[1] == []


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
