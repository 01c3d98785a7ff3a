"""The moves of which a random history is made, and how they are drawn.

A move is drawn whole and independent of the others, so that Hypothesis can drop and simplify them
freely; ``differential_history`` gives it its meaning as things stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from holdfast.values import Kind

Verb: TypeAlias = Literal[
    "claim",
    "claim_each",
    "together",
    "again",
    "repeat",
    "renew",
    "renew_all",
    "release",
    "release_each",
    "withdraw",
    "advance",
    "break",
    "look",
    "shut",
    "open",
    "crowd",
    "flood",
]
Theme: TypeAlias = Literal["lock", "rwlock", "semaphore", "mixed"]
History: TypeAlias = "list[Move]"

CLIENTS = 5
NAMES = ("orders:42", "größe {1}", "50%25}")

_OFTEN: dict[Verb, int] = {
    "claim": 14,
    "claim_each": 2,
    "together": 3,
    "again": 2,
    "repeat": 3,
    "renew": 4,
    "renew_all": 2,
    "release": 6,
    "release_each": 2,
    "withdraw": 3,
    "advance": 3,
    "break": 3,
    "look": 1,
    "shut": 3,
    "open": 2,
    "crowd": 1,
    "flood": 1,
}
_VERBS = [verb for verb, times in _OFTEN.items() for _ in range(times)]
_NAMES = [0, 0, 0, 0, 0, 0, 1, 2]
TTLS = [10.0, 3.0, 0.5, 30.0, 10.0, 3.0, 1.125, 100_000.0]
_PATIENCES = [3.0, 60.0, 60.0, 0.0]
_ODDS = [False, False, True]
_PAUSES = [*[0.0] * 12, *[0.125] * 4, *[0.5] * 3, 1.0, 1.0, 2.875, 3.0, 10.0, 60.0, 61.0]
_SHAPES: dict[Theme, list[tuple[Kind, int, int]]] = {
    "lock": [("lock", 1, 1)],
    "rwlock": [("rwlock", 12, 1), ("rwlock", 12, 1), ("rwlock", 12, 12)],
    "semaphore": [("semaphore", 3, 1), ("semaphore", 3, 2), ("semaphore", 3, 3)],
    "mixed": [
        ("semaphore", 2, 1),
        ("semaphore", 2, 2),
        ("semaphore", 3, 2),
        ("semaphore", 2, 3),  # more than there is
        ("lock", 1, 1),
        ("lock", 1, 2),  # so is this
        ("lead", 1, 1),
    ],
}
REASONS = ["stuck", "", "größer\x1fals "]


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens, ``pause`` after the one before; ``which`` picks among the known."""

    verb: Verb
    name: str
    which: int
    client: int
    shape: tuple[Kind, int, int]
    ttl: float
    patience: float
    odd: bool
    pause: float


def histories(theme: Theme, longest: int = 40) -> st.SearchStrategy[History]:
    """Draw histories of names that are used as one kind of thing, or as several by mistake."""
    shapes = _SHAPES[theme]

    def move(dice: bytes) -> Move:
        verb, name, which, client, shape, ttl, patience, odd, pause = dice
        return Move(
            verb=_VERBS[verb % len(_VERBS)],
            name=NAMES[_NAMES[name % len(_NAMES)]],
            which=which % 12,
            client=client % CLIENTS,
            shape=shapes[shape % len(shapes)],
            ttl=TTLS[ttl % len(TTLS)],
            patience=_PATIENCES[patience % len(_PATIENCES)],
            odd=_ODDS[odd % len(_ODDS)],
            pause=_PAUSES[pause % len(_PAUSES)],
        )

    moves = st.binary(min_size=9, max_size=9).map(move)
    lengths = st.integers(1, longest)
    return lengths.flatmap(lambda length: st.lists(moves, min_size=length, max_size=length))
