"""The same random history of records and buckets through the rules and through the scripts.

Equal after every step: replies, birth marks, what is stored and until when (``family_stage``). A
failing test prints the history and the state before the step in which the two came apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.redis.calls import TOGETHER
from holdfast.rules.bucket_messages import BucketRequest, Take
from tests.backends.redis.family_stage import FamilyStage
from tests.rules import bucket_histories, record_histories
from tests.rules.record_histories import START, swap_id_of
from tests.servers.shared import shared_server

# A failing test needs its time to find the shortest history; a passing one takes a few seconds.
pytestmark = pytest.mark.timeout(300)

EXAMPLES = 400
SOAK_EXAMPLES = 2_000
SOAK_LONGEST = 150

AnyMove = TypeVar("AnyMove", record_histories.Move, bucket_histories.Move)

clusters = st.sampled_from([False, False, True])


def test_the_scripts_of_records_do_what_the_rule_says() -> None:
    """Whatever happens to a record, the server answers and stores what the rule does."""
    assert _live_records(EXAMPLES, 30) > 2_000


@pytest.mark.parametrize("theme", ["steady", "mixed"])
def test_the_scripts_of_buckets_do_what_the_rule_says(theme: bucket_histories.Theme) -> None:
    """Whatever happens to a bucket, the server answers and stores what the rule does."""
    assert _live_buckets(theme, EXAMPLES, 30) > 2_000


@pytest.mark.parametrize("theme", ["steady", "mixed"])
def test_takes_that_travel_together(theme: bucket_histories.Theme) -> None:
    """One command for many takes does what the rule says for one after the other."""
    assert _live_buckets(theme, EXAMPLES // 4, 30, together=True) > 500


@pytest.mark.parametrize("clustered", [False, True])
def test_a_take_that_is_asked_twice_in_one_command(clustered: bool) -> None:  # noqa: FBT001 - given
    """It is taken once, whoever travels between the two, and whatever they want."""
    terms = bucket_histories.TERMS[3]
    one = Take("limiter", "x", swap_id_of(1), 2, terms)
    other = Take("limiter", "x", swap_id_of(2), 3, terms, 10**12)
    elsewhere = Take("limiter", "y", swap_id_of(1), 5, terms)
    with FamilyStage(shared_server(), clustered=clustered) as stage:
        stage.ask_takes([one, other, elsewhere, one, elsewhere, other], START)
        stage.ask_takes([other, one], START + 1)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_scripts_of_records_do_what_the_rule_says_for_long() -> None:
    """Long histories come out the same too."""
    _live_records(SOAK_EXAMPLES, SOAK_LONGEST)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("theme", ["steady", "mixed"])
def test_the_scripts_of_buckets_do_what_the_rule_says_for_long(
    theme: bucket_histories.Theme,
) -> None:
    """Long histories come out the same too, takes alone and together."""
    _live_buckets(theme, SOAK_EXAMPLES, SOAK_LONGEST)
    _live_buckets(theme, SOAK_EXAMPLES, SOAK_LONGEST, together=True)


def _set_back(history: list[AnyMove]) -> list[AnyMove]:
    """Let the server's clock be set back now and then."""
    return [replace(one, pause=-one.pause) if one.which % 9 == 8 else one for one in history]


def _live_records(examples: int, longest: int) -> int:
    steps = 0

    @settings(max_examples=examples)
    @given(record_histories.histories(longest), clusters)
    def live(history: record_histories.History, clustered: bool) -> None:  # noqa: FBT001 - drawn
        nonlocal steps
        with FamilyStage(shared_server(), clustered=clustered) as stage:
            record_histories.play(_set_back(history), stage.ask_record)
            steps += stage.steps

    live()
    return steps


class _Gathering:
    """Asks takes of one moment in one command, as a line for tasks does, and all else alone."""

    def __init__(self, stage: FamilyStage) -> None:
        self._stage = stage
        self._takes: list[Take] = []
        self._now = 0

    def ask(self, request: BucketRequest, now: int) -> None:
        if now != self._now or not isinstance(request, Take) or len(self._takes) == TOGETHER:
            self.flush()
        self._now = now
        if isinstance(request, Take):
            self._takes.append(request)
        else:
            self._stage.ask_bucket(request, now)

    def flush(self) -> None:
        if self._takes:
            self._stage.ask_takes(self._takes, self._now)
        self._takes = []


def _live_buckets(
    theme: bucket_histories.Theme, examples: int, longest: int, *, together: bool = False
) -> int:
    """Live through many; a cluster's node is at times held back, and what it forgot is spent."""
    steps = 0

    @settings(max_examples=examples)
    @given(bucket_histories.histories(theme, longest), st.sampled_from(["", "", "node", "young"]))
    def live(history: bucket_histories.History, place: str) -> None:
        nonlocal steps
        with FamilyStage(shared_server(), clustered=bool(place)) as stage:
            stage.held_back = 10.0 if place == "young" else 0.0
            gathering = _Gathering(stage)
            ask = gathering.ask if together else stage.ask_bucket
            bucket_histories.play(_set_back(history), ask)
            gathering.flush()
            steps += stage.steps

    live()
    return steps
