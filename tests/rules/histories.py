"""Random histories of one name: what clients, the network, the clocks and death can do to it.

A history is a list of ``Move`` values, each drawn whole and independent of the others, so that
Hypothesis can drop and simplify them freely; ``play`` gives them their meaning against the record
as it stands. All times are multiples of 1/8 s, so that a promise can be checked with ``==``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from holdfast.rules.messages import (
    Advance,
    Break,
    Claim,
    ClaimRequest,
    Item,
    Look,
    Release,
    Renew,
    Want,
    Withdraw,
)
from holdfast.values import Holder, Kind
from tests.rules.scene import NAME, Moment, Scene, grants_of

CLIENTS = 5

Verb: TypeAlias = Literal[
    "claim",
    "repeat",
    "renew",
    "release",
    "withdraw",
    "advance",
    "break",
    "look",
    "shut",
    "open",
    "die",
]
Theme: TypeAlias = Literal["lock", "rwlock", "semaphore", "mixed"]
History: TypeAlias = "list[Move]"

# How often each happens: claims and their ends make most of a life.
_OFTEN: dict[Verb, int] = {
    "claim": 14,
    "repeat": 4,
    "renew": 5,
    "release": 6,
    "withdraw": 2,
    "advance": 4,
    "break": 3,
    "look": 1,
    "shut": 4,
    "open": 2,
    "die": 2,
}
_VERBS = [verb for verb, times in _OFTEN.items() for _ in range(times)]
_TTLS = [10.0, 3.0, 0.5, 30.0]
_PATIENCES = [3.0, 60.0, 60.0, 0.0]
_ODDS = [False, False, True]
_PAUSES = [*[0.0] * 12, *[0.125] * 4, *[0.5] * 3, 1.0, 1.0, 2.875, 3.0, 10.0, 61.0]
_DRIFTS = [1_000, 0, 1, -1_000_000, 1_000_000]
_SHAPES: dict[Theme, list[tuple[Kind, int, int]]] = {
    "lock": [("lock", 1, 1)],
    "rwlock": [("rwlock", 4, 1), ("rwlock", 4, 4)],
    "semaphore": [("semaphore", 3, 1), ("semaphore", 3, 2), ("semaphore", 3, 3)],
    "mixed": [
        ("semaphore", 2, 1),
        ("semaphore", 2, 2),
        ("semaphore", 3, 2),
        ("semaphore", 2, 3),  # more than there is
        ("lead", 1, 1),
    ],
}


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens, ``pause`` after the one before; ``which`` picks among the known."""

    verb: Verb
    which: int
    client: int
    shape: tuple[Kind, int, int]
    ttl: float
    patience: float
    odd: bool
    pause: float
    drift: int


def histories(theme: Theme, longest: int = 40) -> st.SearchStrategy[History]:
    """Draw histories of a name that is used as one kind of thing, or as several by mistake."""
    shapes = _SHAPES[theme]

    def move(dice: bytes) -> Move:
        """Read a move off nine dice: one draw instead of nine, which took most of the time."""
        verb, which, client, shape, ttl, patience, odd, pause, drift = dice
        return Move(
            verb=_VERBS[verb % len(_VERBS)],
            which=which % 12,
            client=client % CLIENTS,
            shape=shapes[shape % len(shapes)],
            ttl=_TTLS[ttl % len(_TTLS)],
            patience=_PATIENCES[patience % len(_PATIENCES)],
            odd=_ODDS[odd % len(_ODDS)],
            pause=_PAUSES[pause % len(_PAUSES)],
            drift=_DRIFTS[drift % len(_DRIFTS)],
        )

    moves = st.binary(min_size=9, max_size=9).map(move)
    # Left to itself, Hypothesis draws lists of five: too short a life for most of what can happen.
    lengths = st.integers(1, longest)
    return lengths.flatmap(lambda length: st.lists(moves, min_size=length, max_size=length))


def play(history: History, watch: Callable[[Moment], None]) -> Scene:
    """Live through ``history`` and show each step to ``watch``; a failure tells the whole story."""
    scene = Scene()
    story: list[Moment] = []
    try:
        for request in _requests(history, scene):
            moment = scene.ask(request)
            story.append(moment)
            watch(moment)
    except Exception as error:
        error.add_note("\n".join(map(str, story)))
        raise
    return scene


def _requests(history: History, scene: Scene) -> Iterator[ClaimRequest]:
    known: list[Claim] = []
    asked: list[ClaimRequest] = []
    for move in history:
        scene.now += move.pause
        scene.mint = max(0, scene.mint + move.drift)
        if move.verb in {"shut", "open", "die"}:
            _fall(scene, move)
            continue
        request = _request(scene, move, known, asked)
        if isinstance(request, Claim) and request.claim_id == _id(len(known)):
            known.append(request)
        asked.append(request)
        yield request


def _fall(scene: Scene, move: Move) -> None:
    """Close or open an inbox, or let a client die; it does not come back."""
    if move.verb == "open":
        scene.closed.discard(f"inbox{move.client}")
        return
    scene.closed.add(f"inbox{move.client}")
    if move.verb == "die":
        scene.gone.add(f"client{move.client}")


def _request(
    scene: Scene, move: Move, known: list[Claim], asked: list[ClaimRequest]
) -> ClaimRequest:
    match move.verb:
        case "repeat" if asked:
            return asked[-1 - move.which % len(asked)]
        case "renew":
            return _renewal(scene, move, known)
        case "release" | "withdraw" | "advance":
            return _about_one(scene, move, known)
        case "break":
            tokens = [grant.token for grant in scene.record.grants] or [1]
            return Break(NAME, tokens[move.which % len(tokens)], "stuck", move.odd)
        case "look":
            return Look(NAME)
        case _:
            return _claim(scene, move, len(known))


def _about_one(scene: Scene, move: Move, known: list[Claim]) -> ClaimRequest:
    ids = [claim.claim_id for claim in known]
    if move.verb == "release":
        return Release(NAME, _pick(move, scene.holding, ids))
    if move.verb == "advance":
        return Advance(NAME, _pick(move, scene.waiting, ids))
    if move.odd:  # before its claim is heard of: the next one will be called this
        return Withdraw(NAME, _id(len(ids)))
    return Withdraw(NAME, _pick(move, scene.waiting, ids))


def _pick(move: Move, likely: list[str], ids: list[str]) -> str:
    """Choose mostly among those for whom the request is meant, at times among all there were."""
    choice = ids if move.odd or not likely else likely
    return choice[-1 - move.which % len(choice)] if choice else "never-seen"


def _claim(scene: Scene, move: Move, number: int) -> Claim:
    kind, capacity, weight = move.shape
    want = Want(
        kind=kind,
        capacity=capacity,
        weight=weight,
        ttl=move.ttl,
        metadata=f'"{number}"',
        detached=move.odd,
    )
    seen = scene.record.last_token + 7 if move.which == 11 else 0
    alive = [one for one in range(CLIENTS) if f"client{one}" not in scene.gone] or [CLIENTS]
    client = alive[move.client % len(alive)]
    holder = Holder(f"client{client}", "host", client)
    return Claim(NAME, _id(number), want, holder, f"inbox{client}", move.patience, seen)


def _renewal(scene: Scene, move: Move, known: list[Claim]) -> Renew:
    """Renew all of one client's claims, or one claim; at times with a token that is not its own."""
    grants, living = grants_of(scene.record), {*scene.holding, *scene.waiting}
    client = f"client{move.client}"
    chosen = [
        claim.claim_id
        for claim in known
        if claim.holder.client == client and (move.odd or claim.claim_id in living)
    ]
    if move.which > 5:
        chosen = [_pick(move, scene.waiting, [claim.claim_id for claim in known])]
    tokens = [grants[one].token if one in grants else 0 for one in chosen]
    if move.odd:  # a waiter that was granted meanwhile, or somebody who is mistaken
        tokens = [max(0, token - 1) if move.which % 2 else 0 for token in tokens]
    items = zip(chosen, tokens, strict=True)
    return Renew(NAME, tuple(Item(one, token, move.ttl, move.patience) for one, token in items))


def _id(number: int) -> str:
    return f"claim{number:03}"
