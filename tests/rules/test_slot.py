"""Slots of time: every moment is in exactly one, centred on a multiple of the period."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.slot import slot_at

MOMENTS = st.integers(min_value=0, max_value=2**53)
PERIODS = st.integers(min_value=100_000, max_value=10 * 365 * 86_400_000_000)


@given(MOMENTS, PERIODS)
def test_a_moment_is_in_its_slot(now: int, period: int) -> None:
    """The slot of a moment contains it, and is as long as the period, to the microsecond."""
    slot = slot_at(now, period)
    assert slot.contains(now)
    assert abs(slot.ends_at - slot.starts_at - period) <= 1


@given(MOMENTS, PERIODS)
def test_slots_follow_each_other(now: int, period: int) -> None:
    """Where one ends the next begins: no moment is in two, and none in no slot."""
    slot = slot_at(now, period)
    assert slot_at(slot.ends_at, period).starts_at == slot.ends_at
    assert slot_at(slot.ends_at - 1, period) == slot
    assert slot_at(slot.starts_at, period) == slot
    assert slot_at(slot.starts_at - 1, period).ends_at == slot.starts_at


@given(st.integers(min_value=1, max_value=10**6), PERIODS)
def test_early_and_late_meet(number: int, period: int) -> None:
    """Nearly half a period before and after a multiple are in the same slot."""
    early, late = number * period - (period - 1) // 2, number * period + (period - 1) // 2
    assert slot_at(early, period) == slot_at(late, period) == slot_at(number * period, period)


def test_an_example() -> None:
    """Every ten minutes: from five minutes before until five minutes after."""
    minute = 60_000_000
    assert slot_at(20 * minute - 3, 10 * minute) == (15 * minute, 25 * minute)
    assert slot_at(24 * minute, 10 * minute) == (15 * minute, 25 * minute)
    assert slot_at(25 * minute, 10 * minute) == (25 * minute, 35 * minute)
