"""The Redlock that everybody knows, as a model that must fail: with the seeds that show it.

The worlds are those in which ours holds (`test_seeds`); the only difference is that a voter that
comes back empty votes at once, as without a restart rule.
"""

import pytest

from holdfast.testing.sim import Plan, World, draw

WORLD = "rolling"
OVERLAP, TOKEN = 70, 35
"""The seeds that show it. They may show something else after a flow was changed: then others do."""

ENOUGH = 300


def _textbook(seed: int) -> Plan:
    plan = draw(WORLD, seed)
    assert plan.quorum is not None
    return plan._replace(quorum=plan.quorum._replace(textbook=True))


def _shown_by(known: int, invariant: str) -> int:
    """Give the first seed that breaks the invariant, the known one before all others."""
    seeds: list[int] = [known, *range(ENOUGH)]
    for seed in seeds:
        violation = World(_textbook(seed)).run()
        if violation is not None and violation.invariant == invariant:
            return seed
    raise AssertionError(f"none of {ENOUGH} seeds broke {invariant!r}: is the model still wrong?")


@pytest.mark.parametrize(
    "known, invariant", [(OVERLAP, "no two believe at once"), (TOKEN, "tokens increase")]
)
def test_without_the_restart_rule_it_fails(known: int, invariant: str) -> None:
    """Two hold at once, and a token comes twice; with the rule the same worlds are clean."""
    seed = _shown_by(known, invariant)
    assert World(draw(WORLD, seed)).run() is None


@pytest.mark.parametrize("nodes", [3, 5, 7])
def test_quorums_of_every_size_are_drawn(nodes: int) -> None:
    """The worlds of quorums have them all."""
    drawn = [draw(world, seed).quorum for world in ("minority", "votes") for seed in range(20)]
    assert any(one is not None and one.nodes == nodes for one in drawn)
