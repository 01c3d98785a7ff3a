"""The questions that a cluster's node is asked before anything else, and what its answers mean."""

from collections.abc import Iterable
from typing import Any

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.births import Births
from holdfast.backends.redis.keys import SLOTS, KeyRing, slot_of
from holdfast.backends.redis.target import Target, target_of
from holdfast.backends.redis.topology import ClusterMap
from holdfast.settings import address

HERE, THERE = ("h", 1), ("h", 2)
KEYS = KeyRing("p")


def _target() -> Target:
    return target_of(address("redis+cluster://h:1?quarantine=10s"))


class Clerk:
    """Births, with a map that the test can draw, and what they reported."""

    def __init__(self, slots: Iterable[int] = range(SLOTS)) -> None:
        self.map = ClusterMap(_target())
        self.told: list[str] = []
        self.births = Births(
            _target(),
            self.map,
            KEYS,
            lambda: self.told.append("young"),
            lambda: self.told.append("forgotten"),
        )
        had = frozenset(slots)
        self.map._slots = [HERE if slot in had else None for slot in range(SLOTS)] if had else []

    def hears(self, *answers: Any) -> tuple[list[bytes], float]:
        """Answer one question after the other; give the questions and the time left."""
        story, asked = self.births.questions(HERE), list[bytes]()
        try:
            for answer in (None, *answers):
                asked += [story.send(answer)]
        except StopIteration as ended:
            return asked, max(0.0, ended.value - clock.now())
        raise AssertionError(f"it asks on: {asked[-1]!r}")


def _mark(number: int) -> bytes:
    return f"p:{{birth {number}}}:mark".encode()


def test_a_node_with_a_mark_may_grant() -> None:
    """Also when it is asked again; another mark means that it has forgotten everything."""
    clerk = Clerk()
    asked, left = clerk.hears([77, 0])
    assert left == 0
    assert _mark(0) in asked[0]
    assert clerk.hears([77, 0])[1] == 0
    assert clerk.told == []
    assert clerk.hears([78, 0])[1] == 0
    assert clerk.told == ["forgotten"]


def test_a_young_node_without_one_may_not() -> None:
    """It says itself how long."""
    clerk = Clerk()
    assert 7.9 < clerk.hears([0, 8_000_000])[1] <= 8
    assert clerk.told == ["young"]


@pytest.mark.parametrize("sign", ["MOVED", "ASK"])
def test_a_mark_whose_slot_has_gone_elsewhere(sign: str) -> None:
    """The next slot of the node keeps its mark then."""
    clerk = Clerk()
    gone = slot_of("birth 0")
    asked, left = clerk.hears(Exception(f"{sign} {gone} h:2"), [0, 5_000_000])
    assert 4.9 < left <= 5
    assert _mark(1) in asked[1]
    assert clerk.map.known(gone) == (THERE if sign == "MOVED" else HERE)


def test_a_node_that_has_become_a_replica() -> None:
    """It sends everybody elsewhere, for each of its slots: that is not asked thousands of times."""
    gone = [Exception(f"MOVED {slot_of(f'birth {number}')} h:2") for number in range(10)]
    with pytest.raises(BackendUnavailable, match="elsewhere") as refusal:
        Clerk().hears(*gone)
    assert refusal.value.transient


@pytest.mark.parametrize("text", ["CLUSTERDOWN The cluster is down", "LOADING", "BUSY a script"])
def test_a_node_that_cannot_answer_is_not_used(text: str) -> None:
    """Whatever it says instead is an error of the call."""
    with pytest.raises(BackendUnavailable):
        Clerk().hears(Exception(text))


@pytest.mark.parametrize("lacking", ["slots", "permission"])
@pytest.mark.parametrize("age, held_back", [(0, 11.0), (4, 7.0), (11, 0.0), (4000, 0.0)])
def test_where_no_mark_can_be_had_its_age_counts(lacking: str, age: int, held_back: float) -> None:
    """In whole seconds, and to be sure it may be one second younger than it says."""
    clerk = Clerk(() if lacking == "slots" else range(SLOTS))
    answers: list[Any] = [] if lacking == "slots" else [Exception("NOPERM no EVAL")]
    asked, left = clerk.hears(*answers, f"# Server\r\nuptime_in_seconds:{age}\r\n".encode())
    assert held_back - 0.1 < left <= held_back
    assert b"INFO" in asked[-1]


def test_who_may_ask_nothing_knows_nothing() -> None:
    """The Redis page says what a user must be allowed for a quarantine."""
    refusal = Exception("NOPERM no")
    assert Clerk().hears(refusal, refusal)[1] == 0
