"""The newest ids, each with what came of it: found whole, the oldest forgotten first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules import recent

ids = st.text("0123456789abcdef", min_size=1, max_size=16)
LONGEST = 2048

outcomes = st.from_regex(r"[0-9]{1,16}( [0-9]{1,4})?", fullmatch=True)


@given(st.lists(st.tuples(ids, outcomes), unique_by=lambda one: one[0], max_size=150))
def test_the_newest_are_remembered_and_the_last_forgotten_is_named(
    added: list[tuple[str, str]],
) -> None:
    """As many as fit into 2 KiB, oldest first out; nothing is confused with anything else."""
    text = forgotten = ""
    for one, what in added:
        text, gone = recent.remember(text, one, what, LONGEST)
        forgotten = gone or forgotten
    assert len(text) <= LONGEST
    kept = text.count(";")
    outside, inside = added[: len(added) - kept], added[len(added) - kept :]
    assert all(recent.outcome(text, one) == what for one, what in inside)
    assert all(recent.outcome(text, one) is None for one, _ in outside)
    assert forgotten == (outside[-1][1] if outside else "")
    if outside:
        assert len(text) + len(outside[-1][0]) + len(outside[-1][1]) + 2 > LONGEST


@pytest.mark.parametrize("part", ["a1", "b2", "1b", "a1b", "17", "5", ""])
def test_a_part_of_an_id_is_not_that_id(part: str) -> None:
    """Only a whole id matches: no beginning, end or middle of one, and no outcome."""
    text, _ = recent.remember("", "a1b2", "17 5", LONGEST)
    text, _ = recent.remember(text, "xa1b2", "17 5", LONGEST)
    assert recent.outcome(text, part) is None
    assert recent.outcome(text, "a1b2") == "17 5"


def test_only_the_last_can_be_taken_away() -> None:
    """One that others came after stays; the end of another id is not it."""
    text, _ = recent.remember("", "first", "1", LONGEST)
    both, _ = recent.remember(text, "second", "2", LONGEST)
    assert recent.without_last(both, "first") is None
    assert recent.without_last(both, "cond") is None
    assert recent.without_last(both, "second") == text
    assert recent.without_last(text, "first") == ""
