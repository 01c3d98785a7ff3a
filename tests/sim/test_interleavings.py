"""The rule in every order of events that three clients and two names can bring about."""

import pytest

from holdfast.rules import desk
from holdfast.rules.messages import Want
from holdfast.testing.sim.interleavings import TTL, Rules, explore


@pytest.mark.parametrize(
    "rules, depth",
    [
        (Rules(ticks=3), 7),
        (Rules(names=("a",)), 7),
        (Rules(names=("a",), want=Want("semaphore", 2, 1, TTL)), 7),
    ],
    ids=["two names", "one name", "two permits"],
)
def test_nobody_believes_beyond_the_capacity(rules: Rules, depth: int) -> None:
    """In no situation that can be reached, however letters overtake each other."""
    situations, breach = explore(rules, depth)
    assert breach is None
    assert situations > 10_000


@pytest.mark.soak
@pytest.mark.parametrize(
    "rules, depth",
    [(Rules(), 9), (Rules(names=("a",)), 10)],
    ids=["two names", "one name"],
)
def test_nobody_believes_beyond_the_capacity_further_on(rules: Rules, depth: int) -> None:
    """The same, some moves deeper."""
    assert explore(rules, depth)[1] is None


def test_the_exploration_is_the_same_every_time() -> None:
    """How many situations there are does not hang on the order in which they are met."""
    assert explore(Rules(), 5)[0] == explore(Rules(), 5)[0] > 1000


def test_a_grant_that_ends_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule that ends grants a tick too soon two clients believe, and the moves tell how."""
    honest = desk.Desk.sweep

    def hasty(self: desk.Desk, gone: tuple[str, ...]) -> None:
        self.now += 1
        honest(self, gone)
        self.now -= 1

    monkeypatch.setattr(desk.Desk, "sweep", hasty)
    _, breach = explore(Rules(names=("a",)), 7)
    assert breach is not None
    assert "believe" in breach.text
    assert len(breach.moves) <= 7


def test_a_second_grant_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule that finds room for everyone, two of them believe after six moves."""
    monkeypatch.setattr(desk.Desk, "has_room", lambda _desk, _want: True)
    _, breach = explore(Rules(), 6)
    assert breach is not None
    assert len(breach.moves) <= 6
