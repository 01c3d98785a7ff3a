"""What the server's scripts answer, and what it tells an inbox, as the rule's own values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from holdfast.backends.redis import faults
from holdfast.backends.redis.about import read_about
from holdfast.backends.redis.keys import unescaped
from holdfast.backends.redis.requests import Asked
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll, Together
from holdfast.rules.messages import (
    Broke,
    Busy,
    Claim,
    Ended,
    Ending,
    Granted,
    NotHeld,
    Notice,
    Refused,
    Renew,
    Renewed,
    Reply,
    Seen,
    Waiting,
)
from holdfast.values import KINDS, LockInfo, Place, Tenure, made

_ENDINGS: dict[bytes, Ending] = {
    b"r": "released",
    b"w": "withdrawn",
    b"l": "lapsed",
    b"g": "gone",
    b"b": "broken",
    b"u": "unknown",
}
_NOBODY: tuple[Tenure, ...] = ()
_IN_LINE = (b"waiting", b"ended", b"busy")
"""What a claim or a release is answered where somebody waits: nothing unusual."""

# The replies that most calls get are bytes; all others are lists that begin with the mark.
GRANTED, ENDED = 1, 2
_GRANTED = struct.Struct("<Bdddd").unpack_from
_ENDED = struct.Struct("<Bdc").unpack_from
_MARKED = struct.Struct("<Bd").unpack_from


def mark_of(raw: bytes | list[Any]) -> int:
    """Give the birth mark that every reply carries."""
    return int(_MARKED(raw)[1]) if isinstance(raw, bytes) else int(raw[0])


def read_quick(request: Asked, raw: Any, mark: int) -> Reply | None:
    """Read what most calls get; ``None`` for anything else, or under another birth mark."""
    if type(raw) is not bytes:
        if type(raw) is not list or raw[0] != mark:
            return None
        return read(request, raw) if raw[1] in _IN_LINE else None
    what = raw[0]
    if what > ENDED:
        return _reader_of_takes()(raw, mark)
    claim_id: str = request.claim_id  # type: ignore[union-attr]  # whoever gets these has one
    if what == GRANTED:
        _, marked, token, left, since = _GRANTED(raw)
        if marked != mark:
            return None
        slots = _slots(raw[33:]) if len(raw) > 33 else ()  # noqa: PLR2004 - they come last
        return made(Granted, (claim_id, int(token), left / 1e6, since / 1e6, slots))
    _, marked, how = _ENDED(raw)
    return made(Ended, (claim_id, _ENDINGS[how], "", _NOBODY)) if marked == mark else None


@cache
def _reader_of_takes() -> Callable[[bytes, int], Reply | None]:
    from holdfast.backends.redis.takes import read  # locks alone do without

    return read


def read(request: Asked, raw: bytes | list[Any]) -> Reply:
    """Read the reply to a letter that carried one request."""
    if isinstance(raw, bytes):
        reply = read_quick(request, raw, mark_of(raw))
        assert reply is not None  # noqa: S101 - it is its own mark
        return reply
    what = raw[1]
    if what == b"ended":
        return Ended(request.claim_id, _ENDINGS[raw[2]], "", _tenures(raw[3]))  # type: ignore[union-attr]
    if what == b"waiting":
        return Waiting(_retry(raw[2]), _tenures(raw[3]))
    if what == b"busy":
        return Busy(_tenures(raw[3]), raw[2])
    return _rare(request, what, raw)


def _rare(request: Asked, what: bytes, raw: list[Any]) -> Reply:
    if what == b"refused":
        return Refused(raw[2].decode(), raw[3].decode())
    if what == b"quarantined":
        name = request.name if isinstance(request, Claim) else ""
        raise faults.quarantined(name, raw[2] / 1e6)
    if isinstance(request, ClaimAll):
        return _of_all(request, what, raw)
    if what == b"broke":
        return Broke(_tenure(raw[2]))
    if what == b"not held":
        return NotHeld(_tenures(raw[2]))
    if what == b"seen":
        return Seen((_seen(request.name, raw),))
    if what != b"format":
        from holdfast.backends.redis import family_replies  # locks alone do without

        return family_replies.read(request, raw)
    raise faults.too_new(request.name)


def _of_all(request: ClaimAll, what: bytes, raw: list[Any]) -> Reply:
    if what == b"together":
        pairs = zip(request.claims, raw[2], strict=True)
        return Together(tuple(read(claim, one) for claim, one in pairs))  # type: ignore[misc]
    if what == b"apart":
        return Apart()
    raise faults.too_new(request.name)


def read_renewals(requests: tuple[Asked, ...], raw: list[Any]) -> list[Reply | BackendUnavailable]:
    """Read the reply to a letter that carried renewals: one answer per request."""
    replies: list[Reply | BackendUnavailable] = []
    for request, found in zip(requests, raw[1:], strict=True):
        if found == b"format":
            replies.append(faults.too_new(request.name))
            continue
        holders = _tenures(found[0])
        items = request.items if isinstance(request, Renew) else ()
        still = Waiting(None, holders)
        replies.append(
            Renewed(
                tuple(
                    still if answer == 0 else _answer(item.claim_id, answer, holders)
                    for item, answer in zip(items, found[1], strict=True)
                )
            )
        )
    return replies


def _answer(
    claim_id: str, raw: list[Any], holders: tuple[Tenure, ...]
) -> Granted | Waiting | Ended:
    what = raw[0]
    if what == b"granted":
        return Granted(claim_id, raw[1], raw[2] / 1e6, raw[3] / 1e6, _slots(raw[4]))
    if what == b"waiting":
        return Waiting(_retry(raw[1]), holders)
    return Ended(claim_id, _ENDINGS[raw[1]], raw[2].decode(), holders)


def read_notice(inbox: str, payload: bytes) -> Notice | None:
    """Read what came to an inbox; what a newer holdfast says in words unknown here is passed by."""
    words = payload.decode().split("\x1f", 8)
    if words[0] != "1":
        return None
    _, what, claim_id, token, life, since, slots, tag, reason = words
    return Notice(  # by position: a caller waits for it
        what,  # type: ignore[arg-type]  # the scripts say nothing else
        inbox,
        unescaped(tag),
        claim_id,
        int(token),
        int(life) / 1e6,
        int(since) / 1e6,
        _slots(slots.encode()) if slots else (),
        reason,
    )


def _retry(microseconds: int) -> float | None:
    return None if microseconds < 0 else microseconds / 1e6


def _tenures(raw: list[Any]) -> tuple[Tenure, ...]:
    return tuple([_tenure(one) for one in raw]) if raw else _NOBODY


def _tenure(raw: list[Any]) -> Tenure:
    about, token, weight, since, left, slots, broken = raw
    holder, metadata, detached = read_about(about)
    return Tenure(
        holder=holder,
        token=token,
        weight=weight,
        since=since / 1e6,
        expires_in=left / 1e6,
        metadata=metadata,
        slots=_slots(slots),
        broken=broken.decode(),
        detached=detached,
    )


def _slots(text: bytes) -> tuple[int, ...]:
    return tuple(map(int, text.split(b","))) if text else ()


def _seen(name: str, raw: list[Any]) -> LockInfo:
    _, _, kind, capacity, token, held, line = raw
    return LockInfo(
        name=name,
        kind=KINDS[kind - 1],  # the scripts count them from one
        capacity=capacity,
        token=token,
        holders=_tenures(held),
        queue=tuple(
            Place(holder=read_about(about)[0], weight=weight, since=since / 1e6)
            for about, weight, since in line
        ),
    )
