"""When a holder stops, renews and starts: always before the server lets anyone else in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules import lease

spans = st.floats(0.01, 3600.0)
delays = st.floats(0.0, 60.0)
times = st.floats(0.0, 1e6)


@given(times, spans, delays, st.floats(0.99, 1.01))
def test_a_holder_stops_before_the_server_passes_on(
    asked_at: float, remaining: float, delay: float, rate: float
) -> None:
    """With clock rates within one percent, the deadline comes before the end on the server.

    The server answers ``delay`` after the question left; the holder's clock runs at ``rate``.
    """
    end_on_holders_clock = asked_at + (delay + remaining) * rate
    assert lease.deadline(asked_at, remaining) < end_on_holders_clock


@given(times, spans)
def test_the_margin_is_one_percent_and_five_milliseconds(asked_at: float, remaining: float) -> None:
    """The holder gives away no more than the promised margin."""
    margin = asked_at + remaining - lease.deadline(asked_at, remaining)
    assert margin == pytest.approx(0.01 * remaining + 0.005, abs=1e-8)


def test_a_reply_that_took_too_long_gives_no_time() -> None:
    """The deadline counts from the question, so a late answer may already be over."""
    assert lease.deadline(100.0, 10.0) == pytest.approx(109.895)


@given(times, spans)
def test_two_more_tries_fit_after_the_first_renewal(now: float, ttl: float) -> None:
    """A lease is renewed a third of its ttl after it was confirmed."""
    assert lease.next_renewal(now, ttl) == pytest.approx(now + ttl / 3)
    assert lease.next_renewal(100.0, 9.0) == 103.0


@pytest.mark.parametrize(
    "left, life, may",
    [
        (1.0, 3.0, True),  # a second is enough
        (0.999, 3.0, False),
        (0.5, 1.0, True),  # half of a short life is enough
        (0.499, 1.0, False),
        (2.0, 0.0, True),
        (-0.001, 0.0, False),  # a deadline that is over is never enough
    ],
)
def test_the_body_starts_at_once_only_if_enough_is_left(
    left: float, life: float, *, may: bool
) -> None:
    """What is handed over starts its body with at least min(1 s, half its life) left."""
    assert lease.may_start_unconfirmed(0.0, left, life) is may


@pytest.mark.parametrize("left, now", [(1.499, True), (1.5, False), (3.0, False)])
def test_a_short_rest_is_confirmed_by_a_request_of_its_own(left: float, *, now: bool) -> None:
    """Under a second and a half the keeper's next batch would come too late."""
    assert lease.confirm_now(0.0, left) is now


@pytest.mark.parametrize(
    "left, call_limit, limit",
    [
        (9.0, 5.0, 3.0),  # a third of what is left
        (60.0, 5.0, 5.0),  # never more than a call may take
        (0.12, 5.0, 0.05),  # but no less than can succeed
        (0.02, 5.0, 0.02),  # nor past the deadline
        (0.02, 0.01, 0.01),
    ],
)
def test_one_try_at_renewal_leaves_time_for_others(
    left: float, call_limit: float, limit: float
) -> None:
    """A silent server costs a third of the remaining life, not the lease."""
    assert lease.attempt_limit(0.0, left, call_limit) == pytest.approx(limit)


@given(times, spans, st.floats(0.01, 60.0))
def test_a_try_never_outlasts_the_lease(now: float, left: float, call_limit: float) -> None:
    """No attempt is given more than the call limit or the rest of the lease."""
    limit = lease.attempt_limit(now, now + left, call_limit)
    assert 0.0 < limit <= min(call_limit, left + 1e-9)
    assert lease.TICK * 3 <= lease.PATIENCE  # a waiter may miss two ticks
