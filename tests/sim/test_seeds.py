"""Seeds of every world run clean: a short pass here, a long one with `make sim` and `make soak`."""

import pytest

from holdfast.testing.sim import SOUND, WORLDS, World, draw, explore, search
from holdfast.testing.sim.invariants.onces import Onces
from holdfast.testing.sim.invariants.quotas import Quotas
from holdfast.testing.sim.promises import Promises, promised_in


@pytest.mark.parametrize("world", WORLDS)
def test_every_invariant_holds(world: str) -> None:
    """Nothing is violated, and something happens: leases are taken, or other things done."""
    entries = 0
    for seed in range(20):
        played = World(draw(world, seed))
        violation = played.run()
        assert violation is None, f"seed {seed}: {violation}"
        entries += played.watch.entries + played.watch.family.done
    assert entries > 20


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
def test_every_invariant_holds_for_long(world: str) -> None:
    """The same with many seeds."""
    finding = search([world], range(100_000, 103_000))
    assert finding is None, finding.story()


def test_a_search_that_finds_nothing_says_so() -> None:
    """``search`` gives nothing, and each seed was run once."""
    assert search(["calm"], range(3)) is None
    assert [tally.seeds for tally, _ in explore(["calm"], range(3))] == [1, 2, 3]


@pytest.mark.parametrize("world", SOUND)
def test_sound_worlds_are_promised_everything(world: str) -> None:
    """Where every assumption is kept every invariant is checked."""
    for seed in range(40):
        assert promised_in(draw(world, seed)) == Promises()


@pytest.mark.parametrize("world", sorted(WORLDS.keys() - set(SOUND)))
def test_worlds_that_break_an_assumption_are_promised_less(world: str) -> None:
    """Exclusion is not promised there; the token still is, unless memory and clock both go."""
    promises = [promised_in(draw(world, seed)) for seed in range(40)]
    assert not any(one.exclusion for one in promises)
    assert any(one.tokens for one in promises)


@pytest.mark.parametrize("invariant", [Onces, Quotas])
def test_a_lost_memory_shows(
    invariant: type[Onces | Quotas], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is really lost there: judged as if it were not, it would be a violation."""
    monkeypatch.setattr(invariant, "forget", lambda _self: None)
    assert search(["lapses"], range(150)) is not None


def test_breaking_an_assumption_shows() -> None:
    """Two do believe at once where clocks race: the check is not idle, the world is not tame."""
    overlaps = 0
    for seed in range(60):
        played = World(draw("leaps", seed))
        played.watch.promises = Promises(exclusion=True)
        violation = played.run()
        overlaps += violation is not None and violation.invariant == "no two believe at once"
    assert overlaps > 0
