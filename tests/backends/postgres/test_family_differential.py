"""The same random history of records and buckets through the rules and through the functions.

Equal after every step: replies, birth marks, what is stored and until when (``family_stage``). A
failing test prints the history and the state before the step in which the two came apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given, settings

from tests.backends.postgres.family_stage import FamilyStage
from tests.rules import bucket_histories, record_histories
from tests.servers.shared_postgres import shared_postgres

# A failing test needs its time to find the shortest history; a passing one takes half a minute.
pytestmark = pytest.mark.timeout(300)

EXAMPLES = 100
SOAK_EXAMPLES = 2_000
SOAK_LONGEST = 150

AnyMove = TypeVar("AnyMove", record_histories.Move, bucket_histories.Move)


def test_the_functions_of_records_do_what_the_rule_says() -> None:
    """Whatever happens to a record, the server answers and stores what the rule does."""
    assert _live_records(EXAMPLES, 30) > 500


@pytest.mark.parametrize("theme", ["steady", "mixed"])
def test_the_functions_of_buckets_do_what_the_rule_says(theme: bucket_histories.Theme) -> None:
    """Whatever happens to a bucket, the server answers and stores what the rule does."""
    assert _live_buckets(theme, EXAMPLES, 30) > 500


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_functions_of_records_do_what_the_rule_says_for_long() -> None:
    """Long histories come out the same too."""
    _live_records(SOAK_EXAMPLES, SOAK_LONGEST)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("theme", ["steady", "mixed"])
def test_the_functions_of_buckets_do_what_the_rule_says_for_long(
    theme: bucket_histories.Theme,
) -> None:
    """Long histories come out the same too."""
    _live_buckets(theme, SOAK_EXAMPLES, SOAK_LONGEST)


def _set_back(history: list[AnyMove]) -> list[AnyMove]:
    """Let the server's clock be set back now and then."""
    return [replace(one, pause=-one.pause) if one.which % 9 == 8 else one for one in history]


def _live_records(examples: int, longest: int) -> int:
    steps = 0

    @settings(max_examples=examples)
    @given(record_histories.histories(longest))
    def live(history: record_histories.History) -> None:
        nonlocal steps
        with FamilyStage(shared_postgres()) as stage:
            record_histories.play(_set_back(history), stage.ask_record)
            steps += stage.steps

    live()
    return steps


def _live_buckets(theme: bucket_histories.Theme, examples: int, longest: int) -> int:
    steps = 0

    @settings(max_examples=examples)
    @given(bucket_histories.histories(theme, longest))
    def live(history: bucket_histories.History) -> None:
        nonlocal steps
        with FamilyStage(shared_postgres()) as stage:
            bucket_histories.play(_set_back(history), stage.ask_bucket)
            steps += stage.steps

    live()
    return steps
