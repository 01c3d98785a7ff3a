"""The ids that ended lately: remembered for a minute, the newest 64 of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules import tombstones
from holdfast.rules.messages import Ending

ENDINGS: tuple[Ending, ...] = ("released", "withdrawn", "lapsed", "gone", "broken")

ids = st.text("0123456789abcdef", min_size=4, max_size=4)
burials = st.lists(
    st.tuples(ids, st.sampled_from(ENDINGS), st.integers(0, 240)), unique_by=lambda b: b[0]
)


@pytest.mark.parametrize("how", ENDINGS)
def test_an_id_is_remembered_with_how_it_ended(how: Ending) -> None:
    """Each way to end is told apart."""
    assert tombstones.fate(tombstones.bury("", "a1", how, 0.0), "a1") == how


def test_an_id_that_did_not_end_is_not_found() -> None:
    """Neither an empty nor a filled text knows a stranger."""
    ended = tombstones.bury("", "a1", "released", 0.0)
    assert tombstones.fate("", "b2") is None
    assert tombstones.fate(ended, "b2") is None


@pytest.mark.parametrize("part", ["a1", "b2", "1b", "a1b", "r", "60000", ""])
def test_a_part_of_an_id_is_not_that_id(part: str) -> None:
    """Only a whole id matches: no beginning, end or middle of one, and no other field."""
    ended = tombstones.bury("", "a1b2", "released", 0.0)
    assert tombstones.fate(ended, part) is None


def test_an_id_is_forgotten_after_sixty_seconds() -> None:
    """At sixty seconds it is gone, a moment earlier it is not."""
    ended = tombstones.bury("", "a1", "released", 1000.0)
    assert tombstones.prune(ended, 1059.999) == ended
    assert tombstones.prune(ended, 1060.0) == ""


def test_the_younger_outlive_the_older() -> None:
    """Pruning takes away only those whose time is over."""
    ended = tombstones.bury("", "a1", "released", 0.0)
    ended = tombstones.bury(ended, "b2", "lapsed", 30.0)
    ended = tombstones.prune(ended, 60.0)
    assert (tombstones.fate(ended, "a1"), tombstones.fate(ended, "b2")) == (None, "lapsed")


def test_the_newest_sixty_four_are_kept() -> None:
    """The sixty-fifth pushes out the oldest, and only that."""
    ended = ""
    for number in range(64):
        ended = tombstones.bury(ended, f"id{number:02}", "released", 0.0)
    assert tombstones.fate(ended, "id00") == "released"
    ended = tombstones.bury(ended, "id64", "released", 0.0)
    remembered = [number for number in range(65) if tombstones.fate(ended, f"id{number:02}")]
    assert remembered == list(range(1, 65))


@given(burials, st.integers(0, 400))
def test_it_is_a_list_of_the_last_minute(
    dead: list[tuple[str, Ending, int]], quarters: int
) -> None:
    """Whatever is buried when, exactly the newest 64 of the last sixty seconds are found."""
    ended, now = "", 0.0
    kept: dict[str, tuple[Ending, float]] = {}
    for claim_id, how, pause in dead:
        now += pause / 8
        ended = tombstones.bury(tombstones.prune(ended, now), claim_id, how, now)
        kept[claim_id] = (how, now + 60.0)
    now += quarters / 4
    ended = tombstones.prune(ended, now)
    newest = list(kept.items())[-64:]
    expected = {claim_id: how for claim_id, (how, until) in newest if until > now}
    found = {claim_id: tombstones.fate(ended, claim_id) for claim_id in kept}
    assert {one: how for one, how in found.items() if how is not None} == expected
    assert ended.count(";") == len(expected)


def test_an_id_that_ends_another_is_found() -> None:
    """Only whole ids count, and the first hit need not be the right one."""
    ended = tombstones.bury(tombstones.bury("", "ab", "gone", 0.0), "b", "released", 0.0)
    assert tombstones.fate(ended, "b") == "released"
    assert tombstones.fate(ended, "ab") == "gone"
    assert tombstones.fate(tombstones.bury("", "ab", "gone", 0.0), "b") is None
