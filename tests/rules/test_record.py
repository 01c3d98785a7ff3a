"""The rule for records: by example, and against random histories and a model of all that was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.rules.messages import Refused
from holdfast.rules.record import KEEP_LIMIT, REMEMBERED_FOR, VALUE_LIMIT, Kept, step
from holdfast.rules.record_messages import Entry, Get, Moved, RecordReply, Swap, Swapped
from tests.rules.record_histories import START, History, histories, play, swap_id_of
from tests.rules.record_model import Witness

pytestmark = pytest.mark.timeout(120)

GET = Get("cell", "x")


class Desk:
    """One record and a clock that only the test moves."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.now = START
        self._swaps = 0

    def get(self) -> Entry:
        """Look."""
        self.kept, reply = step(self.kept, GET, self.now)
        assert isinstance(reply, Entry)
        return reply

    def ask(self, swap: Swap) -> RecordReply:
        """Ask for a swap."""
        self.kept, reply = step(self.kept, swap, self.now)
        return reply

    def swap(
        self, value: bytes | None, if_version: int, keep: int | None = None, fence: int = 0
    ) -> RecordReply:
        """Ask for a swap with an id of its own."""
        self._swaps += 1
        return self.ask(Swap("cell", "x", swap_id_of(self._swaps), value, if_version, keep, fence))

    def put(self, value: bytes | None, keep: int | None = None, fence: int = 0) -> int:
        """Swap from what is there; give the version."""
        reply = self.swap(value, self.get().version, keep, fence)
        assert isinstance(reply, Swapped)
        return reply.version


@settings(max_examples=800)
@given(histories())
def test_a_record_keeps_every_promise(history: History) -> None:
    """Linearizable, versions that only grow, truthful about what it has forgotten, fenced."""
    play(history, Witness().ask)


@pytest.mark.soak
@pytest.mark.timeout(0)
@settings(max_examples=10_000)
@given(histories(150))
def test_a_record_keeps_every_promise_for_long(history: History) -> None:
    """Long histories keep them too."""
    play(history, Witness().ask)


@settings(max_examples=300)
@given(histories(), st.lists(st.integers(-(10**7), 10**7), min_size=40, max_size=40))
def test_versions_grow_though_the_clock_is_set_back(history: History, drifts: list[int]) -> None:
    """Whatever the wall clock does, no version comes twice and none is smaller than one before."""
    kept: dict[str, Kept] = {}
    newest: dict[str, int] = {}
    drift = iter(drifts * 40)

    def ask(request: Get | Swap, now: int) -> RecordReply:
        before = kept.get(request.name, Kept())
        after, reply = step(before, request, now + next(drift))
        kept[request.name] = after
        if after is not before:
            assert isinstance(reply, Swapped)
            assert reply.version > newest.get(request.name, 0)
            newest[request.name] = reply.version
        return reply

    play(history, ask)


def test_a_new_record_is_absent() -> None:
    """Nothing is there, at version 0, and the answer says what time it is."""
    assert Desk().get() == Entry(None, 0, None, 0, START)


def test_a_value_is_made_read_and_replaced() -> None:
    """Create from 0, replace from what was seen."""
    desk = Desk()
    first = desk.swap(b"a", 0)
    assert first == Swapped(START, START)
    assert desk.get() == Entry(b"a", START, None, 0, START)
    second = desk.swap(b"b", START)
    assert second == Swapped(START + 1, START)
    assert desk.get().value == b"b"


def test_who_comes_too_late_is_told_what_is_there() -> None:
    """Whoever replaces what is not there any more gets the entry, and can try again from it."""
    desk = Desk()
    seen = desk.put(b"a")
    desk.put(b"b")
    late = desk.swap(b"c", seen)
    assert late == Moved("version", desk.get(), certain=True)
    assert desk.get().value == b"b"


def test_a_swap_asked_again_was_done_even_if_others_came_after() -> None:
    """A lost reply is found again: the version it made, not the one that is there now."""
    desk = Desk()
    mine = Swap("cell", "x", "mine", b"mine", 0)
    done = desk.ask(mine)
    desk.put(b"theirs")
    assert desk.ask(mine) == done
    assert desk.get().value == b"theirs"


def test_what_was_done_too_long_ago_is_not_said_to_be_undone() -> None:
    """Beyond some sixty swaps the record has forgotten who made a version, and says so."""
    desk = Desk()
    seen = desk.put(b"a")
    mine = Swap("cell", "x", "mine", b"mine", seen)
    done = desk.ask(mine)
    for _ in range(40):
        desk.put(b"theirs")
    assert desk.ask(mine) == done
    for _ in range(40):
        desk.put(b"theirs")
    again = desk.ask(mine)
    assert isinstance(again, Moved)
    assert not again.certain


def test_who_was_certainly_not_done_is_told_so_among_many_swaps() -> None:
    """As long as it is known who made the next version, there is no doubt."""
    desk = Desk()
    for _ in range(100):
        desk.put(b"theirs")
    seen = desk.get().version
    desk.put(b"theirs")
    late = desk.swap(b"mine", seen)
    assert isinstance(late, Moved)
    assert late.certain


def test_a_value_ends_and_its_version_does_not_come_back() -> None:
    """At its end it is gone; whoever saw it cannot replace it, and the next version is newer."""
    desk = Desk()
    seen = desk.put(b"a", keep=5)
    desk.now += 4
    assert desk.get() == Entry(b"a", seen, 1, 0, desk.now)
    desk.now += 1
    assert desk.get() == Entry(None, 0, None, 0, desk.now)
    assert isinstance(desk.swap(b"b", seen), Moved)
    assert desk.put(b"c") > seen


def test_a_deleted_record_is_absent_and_its_version_used_up() -> None:
    """A deletion mints a version, although an absent record shows none."""
    desk = Desk()
    desk.put(b"a")
    deleted = desk.put(None)
    assert desk.get().version == 0
    assert desk.put(b"b") > deleted


def test_a_smaller_fence_is_refused_and_told_the_larger() -> None:
    """A holder that lost its lease cannot write behind the back of the next one."""
    desk = Desk()
    desk.put(b"new", fence=8)
    stale = desk.swap(b"old", desk.get().version, fence=7)
    assert stale == Moved("fence", desk.get(), certain=True)
    assert desk.get().fence == 8
    assert desk.put(b"newer", fence=8)
    assert desk.put(b"without a lease")
    assert desk.get().fence == 8


def test_a_fence_outlives_the_value_by_a_minute() -> None:
    """Neither an end nor a deletion opens the door at once to the holder of an older lease."""
    desk = Desk()
    desk.put(b"new", fence=8)
    desk.put(None, fence=8)
    desk.now += REMEMBERED_FOR - 1
    assert isinstance(desk.swap(b"old", 0, fence=7), Moved)
    desk.now += 1
    assert isinstance(desk.swap(b"old", 0, fence=7), Swapped)


def test_a_deletion_can_be_remembered_for_longer() -> None:
    """With ``keep`` a deletion puts up a fence for as long as that, and a minute."""
    desk = Desk()
    desk.put(None, keep=1000, fence=8)
    desk.now += REMEMBERED_FOR + 999
    assert desk.get().version == 0
    assert isinstance(desk.swap(b"old", 0, fence=7), Moved)


def test_a_forgotten_record_is_not_certain_of_anything() -> None:
    """Who saw a version of a record that is blank now may have ended it: nobody knows."""
    desk = Desk()
    seen = desk.put(b"a", keep=5)
    desk.now += 5 + REMEMBERED_FOR
    late = desk.swap(b"b", seen)
    assert isinstance(late, Moved)
    assert not late.certain


@pytest.mark.parametrize("size", [0, 1, VALUE_LIMIT])
def test_a_value_of_any_allowed_size_is_kept(size: int) -> None:
    """Up to the limit, and an empty value is one too."""
    desk = Desk()
    desk.put(b"x" * size)
    assert desk.get().value == b"x" * size


def test_a_value_beyond_the_limit_is_refused() -> None:
    """One byte more than a mebibyte is too much, and the answer says so."""
    desk = Desk()
    refused = desk.swap(b"x" * (VALUE_LIMIT + 1), 0)
    assert refused == Refused("value", "1048577 bytes are more than the 1048576 of a value")
    assert desk.get().version == 0


@pytest.mark.parametrize("keep", [0, -1, KEEP_LIMIT + 1])
def test_a_life_that_cannot_be_is_refused(keep: int) -> None:
    """Not for nothing, and not for longer than can be counted."""
    refused = Desk().swap(b"a", 0, keep=keep)
    assert isinstance(refused, Refused)
    assert refused.why == "keep"
