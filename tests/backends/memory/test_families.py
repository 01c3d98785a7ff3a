"""Records and buckets in memory: what has ended goes away, and versions stay above it."""

from __future__ import annotations

from holdfast.backends.memory.families import Families
from holdfast.rules.bucket_messages import GiveBack, Take, Terms
from holdfast.rules.record import REMEMBERED_FOR
from holdfast.rules.record_messages import Get, Swap, Swapped
from tests.rules.record_histories import START

SECOND = 1_000_000
TEN = Terms(10, SECOND, 10)


def test_what_has_ended_goes_away_and_what_has_not_stays() -> None:
    """However many records come and go, only the living and the newly ended are kept."""
    families = Families()
    now = START
    for number in range(20):
        families.answer("p", Swap("cell", f"stays {number}", "a", b"x", 0), now)
    for number in range(500):
        now += REMEMBERED_FOR // 10
        families.answer("p", Swap("once", f"goes {number}", "a", b"x", 0, keep=SECOND), now)
    assert len(families.records) < 100
    assert all(("p", "cell", f"stays {number}") in families.records for number in range(20))


def test_versions_start_above_what_was_forgotten() -> None:
    """Even if the wall clock was set back meanwhile."""
    families = Families()
    swap = Swap("cell", "x", "a", b"x", 0, keep=1)
    before = families.answer("p", swap, START + 5)
    families.answer("p", Get("cell", "another"), START + 6 + REMEMBERED_FOR)
    assert families.records == {}
    after = families.answer("p", swap, START)
    assert isinstance(before, Swapped)
    assert isinstance(after, Swapped)
    assert after.version > before.version


def test_idle_buckets_go_away() -> None:
    """However many there were, and also those that are given back and taken again and again."""
    families = Families()
    now = START
    for number in range(500):
        now += SECOND
        families.answer("p", Take("limiter", f"{number}", "a", 1, TEN), now)
        families.answer("p", Take("limiter", "again", f"{number}", 1, TEN), now)
        families.answer("p", GiveBack("limiter", "again", f"{number}"), now)
    assert len(families.buckets) < 10
    assert len(families._bucket_round) == len(families.buckets)
