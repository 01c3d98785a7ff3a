"""The same random history through the rule and through the scripts of a real server.

Equal after every exchange: replies, notices, and what is stored (``differential_stage``). A failing
test prints the history and the record before the step in which the two came apart.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.redis.differential_history import play
from tests.backends.redis.differential_moves import History, Theme, histories
from tests.backends.redis.differential_stage import Stage
from tests.servers.shared import shared_server

# A failing test needs its time to find the shortest history; a passing one takes a few seconds.
pytestmark = pytest.mark.timeout(300)

EXAMPLES = 350
SOAK_EXAMPLES = 2_000
SOAK_LONGEST = 200

THEMES: tuple[Theme, ...] = ("lock", "rwlock", "semaphore", "mixed")


@pytest.mark.parametrize("theme", THEMES)
def test_the_scripts_do_what_the_rule_says(theme: Theme) -> None:
    """Whatever happens to a name, the server answers, tells and stores what the rule does."""
    _live(theme, EXAMPLES, 40)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("theme", THEMES)
def test_the_scripts_do_what_the_rule_says_for_long(theme: Theme) -> None:
    """Long histories come out the same too."""
    _live(theme, SOAK_EXAMPLES, SOAK_LONGEST)


def _live(theme: Theme, examples: int, longest: int) -> None:
    """Live through many histories; letters to a cluster name the keys of one name only."""

    @settings(max_examples=examples)
    @given(histories(theme, longest), st.sampled_from([False, False, True]))
    def live(history: History, clustered: bool) -> None:  # noqa: FBT001 - drawn
        with Stage(shared_server(), clustered=clustered) as stage:
            play(history, stage)

    live()
