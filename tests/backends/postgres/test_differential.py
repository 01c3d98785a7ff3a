"""The same random history through the rule and through the functions of a real server.

Equal after every statement: replies, notices, and what is stored (``differential_stage``). A
failing test prints the history and the record before the step in which the two came apart.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.backends.postgres.differential_stage import Stage
from tests.backends.redis.differential_history import play
from tests.backends.redis.differential_moves import History, Theme, histories
from tests.servers.shared_postgres import shared_postgres

# A failing test needs its time to find the shortest history; a passing one takes half a minute.
pytestmark = pytest.mark.timeout(300)

EXAMPLES = 80
SOAK_EXAMPLES = 2_000
SOAK_LONGEST = 200

THEMES: tuple[Theme, ...] = ("lock", "rwlock", "semaphore", "mixed")


@pytest.mark.parametrize("theme", THEMES)
def test_the_functions_do_what_the_rule_says(theme: Theme) -> None:
    """Whatever happens to a name, the server answers, tells and stores what the rule does."""
    assert _live(theme, EXAMPLES, 40) > 1_000


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("theme", THEMES)
def test_the_functions_do_what_the_rule_says_for_long(theme: Theme) -> None:
    """Long histories come out the same too."""
    _live(theme, SOAK_EXAMPLES, SOAK_LONGEST)


def _live(theme: Theme, examples: int, longest: int) -> int:
    steps = 0

    @settings(max_examples=examples)
    @given(histories(theme, longest))
    def live(history: History) -> None:
        nonlocal steps
        with Stage(shared_postgres()) as stage:
            play(history, stage)
            steps += stage.steps

    live()
    return steps
