"""The rule against random histories: every promise of DESIGN section 5, after every step.

The promises themselves are in ``promises`` and ``answers``, one function each; a failing test names
the one that was broken and prints the whole history.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.rules.messages import Granted
from tests.rules.histories import History, Theme, histories, play
from tests.rules.promises import Witness

# A failing test needs its time to find the shortest history; a passing one takes a few seconds.
pytestmark = pytest.mark.timeout(120)

EXAMPLES = 1_000
SOAK_EXAMPLES = 5_000
SOAK_LONGEST = 150
LATER = 61.0
"""Longer than any ttl, patience or tombstone in these histories lasts."""

THEMES: tuple[Theme, ...] = ("lock", "rwlock", "semaphore", "mixed")

any_history = st.sampled_from(THEMES).flatmap(histories)


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


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("theme", THEMES)
def test_long_lives_keep_every_promise(theme: Theme) -> None:
    """Long histories keep all promises too."""

    @settings(max_examples=SOAK_EXAMPLES)
    @given(histories(theme, SOAK_LONGEST))
    def live(history: History) -> None:
        play(history, Witness())

    live()


@given(any_history)
def test_a_name_drains_when_everybody_lets_go(history: History) -> None:
    """When all who hold or wait end their claims, nobody is left, and in time no trace either."""
    witness = Witness()
    scene = play(history, witness)
    for _ in range(len(history)):
        if scene.record.idle:
            break
        scene.release((scene.holding + scene.waiting)[0])
    assert scene.record.idle
    scene.now += LATER
    scene.advance()
    assert (scene.record.idle, scene.record.ended) == (True, "")


@given(any_history)
def test_a_name_drains_by_time_alone(history: History) -> None:
    """When nobody says anything any more, time ends all, and then forgets it."""
    scene = play(history, Witness())
    token = scene.record.last_token
    scene.now += LATER
    scene.advance()
    assert scene.record.idle
    scene.now += LATER
    scene.advance()
    assert (scene.record.ended, scene.record.last_token) == ("", token)


@given(any_history)
def test_who_keeps_asking_is_served_at_last(history: History) -> None:
    """A patient waiter whom no notice can reach holds as soon as those before it are through."""
    scene = play(history, Witness())
    scene.kind, scene.capacity = scene.record.kind, scene.record.capacity
    scene.closed.add("zoe")
    reply = scene.claim("zoe", weight=scene.capacity, ttl=LATER, patience=LATER)
    for _ in range(len(history)):
        if isinstance(reply, Granted):
            break
        scene.withdraw((scene.holding + scene.waiting)[0])
        reply = scene.advance("zoe")
    assert isinstance(reply, Granted)
    assert reply.remaining == LATER
