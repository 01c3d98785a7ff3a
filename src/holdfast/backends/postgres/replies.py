"""What the functions answer, and what is told to an inbox, as the rule's own values."""

from __future__ import annotations

import json
from typing import Any

from holdfast.backends.postgres import faults
from holdfast.rules.messages import (
    Broke,
    Busy,
    Ended,
    Ending,
    Granted,
    NotHeld,
    Notice,
    Refused,
    Renew,
    Renewed,
    Reply,
    Request,
    Seen,
    Waiting,
)
from holdfast.values import Holder, LockInfo, Place, Tenure

_ENDINGS: dict[str, Ending] = {
    "r": "released",
    "w": "withdrawn",
    "l": "lapsed",
    "g": "gone",
    "b": "broken",
    "u": "unknown",
}

Cells = list[Any]


def read(request: Request, raw: Cells) -> Reply:
    """Read one reply: ``raw[0]`` is the birth mark, ``raw[1]`` a letter for what it is."""
    what = raw[1]
    if what == "g":
        return _granted(request.claim_id, raw)  # type: ignore[union-attr]  # all of them have an id
    if what == "e":
        return Ended(request.claim_id, _ENDINGS[raw[2]], "", _tenures(raw[3]))  # type: ignore[union-attr]
    if what == "a":
        return _renewed(request, raw)
    if what == "w":
        return Waiting(_retry(raw[2]), _tenures(raw[3]))
    if what == "b":
        return Busy(_tenures(raw[3]), raw[2])
    return _rare(request, what, raw)


def _rare(request: Request, what: str, raw: Cells) -> Reply:
    name = getattr(request, "name", "")
    if what == "s":
        return Seen((_seen(raw),))
    if what == "l":
        return Seen(tuple(map(_seen, raw[2])))
    if what == "r" and raw[2] != "terms":
        return Refused(raw[2], raw[3])
    if what == "k":
        return Broke(_tenure(raw[2]))
    if what == "n":
        return NotHeld(_tenures(raw[2]))
    if what == "q":
        raise faults.quarantined(name, raw[2] / 1e6)
    if what == "h":
        raise faults.withheld(name, raw[2] / 1e6)
    from holdfast.backends.postgres import family_replies  # locks alone do without

    return family_replies.read(request, raw)


def _granted(claim_id: str, raw: Cells) -> Granted:
    _, _, token, left, since, *slots = raw
    held = tuple(slots[0]) if slots else ()
    return Granted(claim_id, token, left / 1e6, since / 1e6, held)


def _renewed(request: Request, raw: Cells) -> Renewed:
    holders = _tenures(raw[2])
    still = Waiting(None, holders)
    items = request.items if isinstance(request, Renew) else ()
    return Renewed(
        tuple(
            still if answer == 0 else _answer(item.claim_id, answer, holders)
            for item, answer in zip(items, raw[3], strict=True)
        )
    )


def _answer(claim_id: str, raw: Cells, holders: tuple[Tenure, ...]) -> Granted | Waiting | Ended:
    if raw[0] == "w":
        return Waiting(_retry(raw[1]), holders)
    if raw[0] == "e":
        return Ended(claim_id, _ENDINGS[raw[1]], raw[2], holders)
    return _granted(claim_id, raw)


def read_notice(inbox: str, payload: str) -> Notice | None:
    """Read what came to an inbox; what a newer holdfast, or anybody else, says is passed by.

    Every user of the database may say something on every channel, and a caller may be listening.
    """
    words = payload.split("\x1f", 8)
    if words[:2] == ["1", "missed"]:
        return Notice("missed", inbox, "", "", 0)
    if words[0] != "1":
        return None
    try:
        _, what, claim_id, token, life, since, slots, name, reason = words
        return Notice(
            what=what,  # type: ignore[arg-type]  # the functions say nothing else
            inbox=inbox,
            name=name,
            claim_id=claim_id,
            token=int(token),
            life=int(life) / 1e6,
            granted_at=int(since) / 1e6,
            slots=tuple(map(int, slots.split(","))) if slots else (),
            reason=reason,
        )
    except ValueError:
        return None


def _retry(microseconds: int) -> float | None:
    return None if microseconds < 0 else microseconds / 1e6


def _tenures(raw: Cells) -> tuple[Tenure, ...]:
    return tuple([_tenure(one) for one in raw]) if raw else ()


def _tenure(raw: Cells) -> Tenure:
    holder, token, weight, since, left, metadata, slots, broken, detached = raw
    return Tenure(
        holder=Holder(*holder),
        token=token,
        weight=weight,
        since=since / 1e6,
        expires_in=left / 1e6,
        metadata="" if metadata is None else _compact(metadata),
        slots=tuple(slots or ()),
        broken=broken,
        detached=detached,
    )


def _seen(raw: Cells) -> LockInfo:
    _, _, name, kind, capacity, token, held, line = raw
    return LockInfo(
        name=name,
        kind=kind,
        capacity=capacity,
        token=token,
        holders=_tenures(held),
        queue=tuple(
            Place(holder=Holder(*holder), weight=weight, since=since / 1e6)
            for holder, weight, since in line
        ),
    )


def _compact(metadata: object) -> str:
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
