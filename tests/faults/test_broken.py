"""A holdfast that is broken on purpose is found out by the same runs that find nothing in ours."""

import sys
from pathlib import Path

import pytest

from holdfast.testing.verify.torments import Scene, Torment
from tests.faults.broken import FLAWS
from tests.faults.campaign import Campaign
from tests.faults.ground import Ground
from tests.faults.grounds.redis import RedisGround
from tests.faults.grounds.sqlite import SqliteGround
from tests.faults.outcome import Outcome

SHOWN: dict[str, tuple[str, set[str]]] = {
    "late_deadlines": ("pause", {"exclusion", "succession", "belief"}),
    "renewals_ignored": ("pause", {"exclusion", "succession"}),
    "anybody_releases": ("kill", {"exclusion", "succession"}),
    "tokens_counted": ("deleted", {"tokens", "fencing"}),
}
"""By which fault a flaw shows, and the rules of which at least one must accuse."""


def ran(ground: Ground, folder: Path, fault: str, rules: set[str]) -> Outcome:
    """Make a run with one kind of fault, until one of these rules accuses, or for two minutes."""
    campaign = Campaign(
        ground=ground,
        folder=folder,
        seconds=120.0,
        seed=4,
        only=[fault],
        until=frozenset(rules),
        names=("a",),  # all of them want the same, so whoever should stop and does not is met
        peace=1.0,
    )
    return campaign.run()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_in_the_product_is_found(tmp_path: Path, flaw: str) -> None:
    """Each flaw ends in violations of a promise that it breaks, with the lines that prove it."""
    fault, rules = SHOWN[flaw]
    with SqliteGround() as ground:
        ground.program = (sys.executable, "-m", "tests.faults.broken", flaw)
        outcome = ran(ground, tmp_path, fault, rules)
    assert outcome.torments == {fault: outcome.torments[fault]}
    proved = [one for one in outcome.verdict.violations if one.rule in rules]
    assert proved, outcome.summary()
    assert all(len(violation.proofs) > 1 for violation in proved)
    assert str(proved[0]) in outcome.problems()


class Forgetful(RedisGround):
    """A server that forgets everything now and then, and nobody has said that it may."""

    def torments(self) -> tuple[Torment, ...]:
        """List the one thing that happens here."""
        return (self.forgetting,)

    def forgetting(self, scene: Scene) -> None:
        """Delete everything, as if that were promised to be harmless."""
        with scene.crew.fault("server flushed"):
            self._server.ask("FLUSHALL")


@pytest.mark.timeout(240)
def test_a_server_that_forgets_is_found(tmp_path: Path) -> None:
    """Whoever holds goes on until it is told, and somebody else is let in meanwhile."""
    rules = {"exclusion", "succession"}
    with Forgetful(quarantine="0s") as ground:
        outcome = ran(ground, tmp_path, "forgetting", rules)
    assert rules & set(outcome.verdict.found), outcome.summary()
    assert outcome.problems()
