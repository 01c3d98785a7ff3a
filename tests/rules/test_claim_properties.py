"""The rule against random histories: every promise of DESIGN section 5, after every step.

The promises themselves are in ``promises`` and ``answers``, one function each; a failing test names
the one that was broken and prints the whole history.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from holdfast.rules.messages import Granted
from tests.rules.histories import History, histories, play
from tests.rules.promises import Witness
from tests.rules.scene import Moment, Scene

# A failing test needs its time to find the shortest history; a passing one takes a few seconds.
pytestmark = pytest.mark.timeout(120)

EXAMPLES = 1_000
SOAK_EXAMPLES = 25_000
SOAK_LONGEST = 150


@settings(max_examples=EXAMPLES)
@given(histories("lock"))
def test_a_lock_keeps_every_promise(history: History) -> None:
    """Whatever happens to a lock, each step keeps all promises."""
    play(history, Witness())


@settings(max_examples=EXAMPLES)
@given(histories("rwlock"))
def test_a_readers_writer_lock_keeps_every_promise(history: History) -> None:
    """Whatever readers and writers do, each step keeps all promises."""
    play(history, Witness())


@settings(max_examples=EXAMPLES)
@given(histories("semaphore"))
def test_a_semaphore_keeps_every_promise(history: History) -> None:
    """Whatever claims of different weight do, each step keeps all promises."""
    play(history, Witness())


@settings(max_examples=EXAMPLES)
@given(histories("mixed"))
def test_a_name_used_as_several_kinds_keeps_every_promise(history: History) -> None:
    """Whatever is mixed up by mistake, each step keeps all promises."""
    play(history, Witness())
