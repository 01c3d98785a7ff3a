"""Random histories of records: writers that look, swap, come too late and ask again.

A history is a list of ``Move`` values, each drawn whole, so that Hypothesis can drop and simplify
them freely; ``play`` gives them their meaning: a writer swaps from the version it has last seen.
Used against the rule alone, and by the differential tests against a server.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from holdfast.rules.record_messages import (
    Entry,
    Get,
    Moved,
    RecordReply,
    RecordRequest,
    Swap,
    Swapped,
)

Verb: TypeAlias = Literal["get", "swap", "create", "delete", "repeat", "flood"]
History: TypeAlias = "list[Move]"
Ask: TypeAlias = Callable[[RecordRequest, int], RecordReply]

START = 1_700_000_000_000_000
WRITERS = 3
NAMES = ("settings", "größe {1}%")
FLOOD = 70
"""More swaps in a row than a record remembers."""

_OFTEN: dict[Verb, int] = {
    "get": 4,
    "swap": 10,
    "create": 4,
    "delete": 4,
    "repeat": 6,
    "flood": 1,
}
_VERBS = [verb for verb, times in _OFTEN.items() for _ in range(times)]
_VALUES = [b"", b"a", b"\x00\xff\r\n;", "größer".encode(), b"x" * 3000]
_KEEPS = [None, None, 1, 1_000_000, 10_000_000, 90_000_000]
_FENCES = [0, 0, 0, 1, 2, 3]
_PAUSES = [*[0] * 8, 1, 1_000, 1_000_000, 9_999_999, 10_000_000, 60_000_000, 61_000_000]


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens, ``pause`` after the one before; ``which`` picks among the asked."""

    verb: Verb
    name: str
    which: int
    writer: int
    value: bytes
    keep: int | None
    fence: int
    pause: int


@dataclass
class _Known:
    """What has been asked so far, and the version that each writer has last seen."""

    asked: list[RecordRequest] = field(default_factory=list)
    seen: dict[tuple[str, int], int] = field(default_factory=dict)
    swaps: int = 0


def histories(longest: int = 40) -> st.SearchStrategy[History]:
    """Draw histories of two records."""

    def move(dice: bytes) -> Move:
        verb, name, which, writer, value, keep, fence, pause = dice
        return Move(
            verb=_VERBS[verb % len(_VERBS)],
            name=NAMES[name % 4 == 3],
            which=which % 100,
            writer=writer % WRITERS,
            value=_VALUES[value % len(_VALUES)],
            keep=_KEEPS[keep % len(_KEEPS)],
            fence=_FENCES[fence % len(_FENCES)],
            pause=_PAUSES[pause % len(_PAUSES)],
        )

    moves = st.binary(min_size=8, max_size=8).map(move)
    lengths = st.integers(1, longest)
    return lengths.flatmap(lambda length: st.lists(moves, min_size=length, max_size=length))


def swap_id_of(number: int) -> str:
    """Make an id as production does: the base64 of twelve bytes."""
    return b64encode(sha1(b"%d" % number, usedforsecurity=False).digest()[:12]).decode()


def play(history: History, ask: Ask) -> None:
    """Live through ``history``."""
    known = _Known()
    now = START
    for move in history:
        now += move.pause
        if move.verb == "repeat" and known.asked:
            ask(known.asked[-1 - move.which % len(known.asked)], now)
        elif move.verb == "flood":
            for _ in range(FLOOD):
                _flood_once(move, known, ask, now)
        else:
            _ask(_request(move, known), move, known, ask, now)


def _flood_once(move: Move, known: _Known, ask: Ask, now: int) -> None:
    _ask(Get("cell", move.name), move, known, ask, now)
    _ask(_swap(move, known, move.value, move.fence), move, known, ask, now)


def _request(move: Move, known: _Known) -> RecordRequest:
    match move.verb:
        case "get" | "repeat" | "flood":
            return Get("cell", move.name)
        case "swap":
            return _swap(move, known, move.value, move.fence)
        case "create":
            return _swap(move, known, move.value, move.fence)._replace(if_version=0)
        case "delete":
            return _swap(move, known, None, move.fence)


def _swap(move: Move, known: _Known, value: bytes | None, fence: int) -> Swap:
    known.swaps += 1
    seen = known.seen.get((move.name, move.writer), 0)
    return Swap("cell", move.name, swap_id_of(known.swaps), value, seen, move.keep, fence)


def _ask(request: RecordRequest, move: Move, known: _Known, ask: Ask, now: int) -> None:
    known.asked.append(request)
    reply = ask(request, now)
    place = (move.name, move.writer)
    match reply:
        case Entry():
            known.seen[place] = reply.version
        case Moved():
            known.seen[place] = reply.entry.version
        case Swapped():
            known.seen[place] = reply.version
        case _:
            raise AssertionError(f"{request} was refused: {reply}")
