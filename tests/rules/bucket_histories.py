"""Random histories of buckets: callers that take, wait, ask again, give up, and disagree on terms.

A history is a list of ``Move`` values, each drawn whole, so that Hypothesis can drop and simplify
them freely; ``play`` gives them their meaning. Used against the rule alone, and by the differential
tests against a server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from holdfast.rules.bucket_messages import BucketRequest, GiveBack, Take, Terms
from tests.rules.record_histories import START, swap_id_of

Verb: TypeAlias = Literal["take", "wait", "repeat", "give_back", "adopt", "flood"]
Theme: TypeAlias = Literal["steady", "mixed"]
History: TypeAlias = "list[Move]"
Ask: TypeAlias = Callable[[BucketRequest, int], object]

NAMES = ("mail", "größe {1}%")
FLOOD = 70
"""More takes in a row than a bucket remembers."""

SECOND, HOUR = 1_000_000, 3_600_000_000
TERMS = [
    Terms(10, SECOND, 10),
    Terms(3, SECOND, 1),  # a third of a second is no whole number of microseconds
    Terms(7, SECOND, 4),
    Terms(5_000, HOUR, 100),
    Terms(1_000_000, SECOND, 50),  # one in each microsecond
    Terms(3_000_000, SECOND, 9),  # several in each
    Terms(1, 86_400 * SECOND, 2),
    Terms(1, 3, 1),
]

_OFTEN: dict[Verb, int] = {
    "take": 12,
    "wait": 8,
    "repeat": 4,
    "give_back": 4,
    "adopt": 1,
    "flood": 1,
}
_VERBS = [verb for verb, times in _OFTEN.items() for _ in range(times)]
_WAITS = [1, 333_333, 333_334, SECOND, 10 * SECOND, HOUR, 10**15]
_PAUSES = [*[0] * 8, 1, 2, 1_000, 99_999, 100_000, 333_333, 333_334, SECOND, HOUR, 10**12]


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens, ``pause`` after the one before; ``which`` picks among the asked."""

    verb: Verb
    name: str
    which: int
    permits: int
    terms: Terms
    wait: int
    pause: int


def histories(theme: Theme, longest: int = 40) -> st.SearchStrategy[History]:
    """Draw histories of two buckets: all callers agree on the terms, or not."""

    def move(terms: Terms, dice: bytes) -> Move:
        verb, name, which, permits, other, wait, pause = dice
        if theme == "mixed":
            terms = TERMS[other % 4]
        return Move(
            verb=_VERBS[verb % len(_VERBS)],
            name=NAMES[name % 4 == 3],
            which=which % 100,
            permits=1 + permits % terms.burst if permits % 2 else 1,
            terms=terms,
            wait=_WAITS[wait % len(_WAITS)],
            pause=_PAUSES[pause % len(_PAUSES)],
        )

    dice = st.lists(st.binary(min_size=7, max_size=7), min_size=1, max_size=longest)
    return st.builds(
        lambda terms, thrown: [move(terms, one) for one in thrown], st.sampled_from(TERMS), dice
    )


def play(history: History, ask: Ask) -> None:
    """Live through ``history``."""
    asked: list[BucketRequest] = []
    now = START
    for move in history:
        now += move.pause
        for _ in range(FLOOD if move.verb == "flood" else 1):
            request = _request(move, asked)
            asked.append(request)
            ask(request, now)


def _request(move: Move, asked: list[BucketRequest]) -> BucketRequest:
    new = Take("limiter", move.name, swap_id_of(len(asked)), move.permits, move.terms)
    match move.verb:
        case "repeat" if asked:
            return asked[-1 - move.which % len(asked)]
        case "give_back" if asked:
            one = asked[-1 - move.which % min(3, len(asked))]
            return GiveBack("limiter", one.name, one.take_id)
        case "wait" | "flood":
            return new._replace(wait=move.wait)
        case "adopt":
            return new._replace(adopt=True)
        case _:
            return new
