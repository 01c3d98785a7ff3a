"""How long to pause before asking again: growing, bounded, spread."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.backoff import pause

attempts = st.integers(0, 10_000)
dice = st.floats(0.0, 1.0, exclude_max=True)


@pytest.mark.parametrize(
    "attempt, longest_pause", [(0, 0.02), (1, 0.04), (2, 0.08), (5, 0.64), (6, 1.0), (9_999, 1.0)]
)
def test_pauses_double_up_to_the_longest(attempt: int, longest_pause: float) -> None:
    """Each failed attempt doubles the pause until it is a second."""
    assert pause(attempt, 1.0) == pytest.approx(longest_pause)
    assert pause(attempt, 0.0) == pytest.approx(longest_pause / 2)


@given(attempts, dice, st.floats(0.001, 1.0), st.floats(1.0, 60.0))
def test_a_pause_is_between_a_half_and_the_whole(
    attempt: int, thrown: float, first: float, longest: float
) -> None:
    """The dice move the pause within the upper half of its span, so it is never none."""
    whole = min(longest, first * 2.0 ** min(attempt, 16))
    assert whole / 2 <= pause(attempt, thrown, first, longest) <= whole


@given(attempts, dice)
def test_pauses_never_shrink_with_attempts(attempt: int, thrown: float) -> None:
    """With the same dice a later attempt waits at least as long."""
    assert pause(attempt, thrown) <= pause(attempt + 1, thrown)


@given(attempts, dice, dice)
def test_the_dice_spread_the_pauses(attempt: int, one: float, other: float) -> None:
    """Two clients that throw differently do not come back at the same moment."""
    low, high = sorted((one, other))
    assert pause(attempt, low) <= pause(attempt, high)
    assert pause(attempt, 0.25) < pause(attempt, 0.75)
