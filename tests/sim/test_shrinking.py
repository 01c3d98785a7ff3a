"""A failing seed is told as the shortest history found, with who believed what when."""

import pytest

from holdfast.rules import lease
from holdfast.testing.sim import Finding, World, search
from holdfast.testing.sim.__main__ import main


@pytest.fixture
def finding(monkeypatch: pytest.MonkeyPatch) -> Finding:
    """Break the product (no margin, and a life counted as longer than it is) and find a seed."""
    monkeypatch.setattr(lease, "deadline", lambda asked_at, remaining: asked_at + remaining + 0.5)
    found = search(["pauses"], range(200))
    assert found is not None
    return found


def test_the_shortest_history_breaks_the_same_thing(finding: Finding) -> None:
    """Smaller in every way, and still a violation of the same invariant."""
    shortest = finding.shortest()
    violation = World(shortest).run()
    assert violation is not None
    assert violation.invariant == finding.violation.invariant
    assert len(shortest.members) <= min(2, len(finding.plan.members))
    assert len(shortest.faults) <= len(finding.plan.faults)
    assert shortest.callers() <= finding.plan.callers()


def test_the_story_can_be_read(finding: Finding) -> None:
    """It names the seed, the plan, each message, who was inside, and how to see it again."""
    story = finding.story()
    assert f"seed {finding.seed}" in story
    assert "VIOLATION" in story
    assert "is in" in story
    assert "Claim(" in story
    assert f"--world pauses --seed {finding.seed}" in story


def test_the_command_fails_with_the_story(
    finding: Finding, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and everything that is needed to look into it."""
    assert main(["--world", "pauses", "--seed", str(finding.seed)]) == 1
    told = capsys.readouterr().out
    assert "1 violation" in told
    assert "the shortest history found" in told


def test_the_command_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, with the number of seeds, events and violations, and the speed."""
    assert main(["--seeds", "20"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("20 seeds, ")
    assert "events a second of CPU time, 0 violations" in told


def test_the_command_lists_its_worlds(capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind of world with a line about it."""
    assert main(["--list"]) == 0
    told = capsys.readouterr().out
    assert "storm" in told
    assert "Draw a world in which nothing goes wrong." in told
