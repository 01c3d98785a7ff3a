"""What a voter answers, as values: the same for both wires. Counterpart: ``requests``.

Spans are microseconds on the way; holders are JSON that no server reads.
"""

from __future__ import annotations

from typing import Any

from holdfast.backends.redis.about import read_about
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Broke,
    Busy,
    Ended,
    Ending,
    Granted,
    Look,
    NotHeld,
    Refused,
    Renew,
    Renewed,
    Seen,
)
from holdfast.rules.quorum_messages import Stood, Unsettled, VoterReply, VoterRequest
from holdfast.values import KINDS, LockInfo, Place, Tenure, printable

_ENDINGS: dict[bytes, Ending] = {
    b"r": "released", b"w": "withdrawn", b"l": "lapsed", b"b": "broken", b"u": "unknown",
}  # fmt: skip


def read(request: VoterRequest, raw: Any, shown: str) -> VoterReply | BackendUnavailable:
    """Read a voter's answer to ``request``."""
    match raw[0]:
        case b"granted" | b"ended":
            return _part(request.claim_id, raw)  # type: ignore[union-attr]  # it has one
        case b"renewed":
            items = request.items if isinstance(request, Renew) else ()
            parts = zip(items, raw[1], strict=True)
            return Renewed(tuple(_part(item.claim_id, part) for item, part in parts))
        case b"busy":
            return Busy(_tenures(raw[2]), raw[1])
        case b"unsettled":
            return Unsettled()
        case _:
            return _rare(request, raw, shown)


def _rare(request: VoterRequest, raw: Any, shown: str) -> VoterReply | BackendUnavailable:
    match raw[0]:
        case b"stood":
            blank_for = None if raw[5] < 0 else raw[5] / 1e6
            return Stood(raw[1] == 1, raw[2], raw[3], raw[4] == 1, blank_for)
        case b"refused":
            return Refused(raw[1].decode(), raw[2].decode())
        case b"broke":
            return Broke(_tenure(raw[1]))
        case b"not held":
            return NotHeld(_tenures(raw[1]))
        case b"seen" if isinstance(request, Look):
            return _seen(request.name, raw)
        case _:
            return BackendUnavailable(
                f"{shown}: {printable(getattr(request, 'name', ''))!r} was written by a newer"
                " holdfast in a form that this one cannot read: upgrade holdfast here",
                backend="redlock",
                transient=False,
            )


def _part(claim_id: str, raw: Any) -> Granted | Ended:
    if raw[0] == b"granted":
        return Granted(claim_id, raw[1], raw[2] / 1e6, raw[3] / 1e6)
    return Ended(claim_id, _ENDINGS[raw[1]], raw[2].decode(), _tenures(raw[3]))


def _seen(name: str, raw: Any) -> Seen:
    _, kind, token, held, line = raw
    queue = tuple(Place(read_about(about)[0], 1, since / 1e6) for about, since in line)
    return Seen((LockInfo(name, KINDS[kind - 1], 1, token, _tenures(held), queue),))


def _tenures(raw: Any) -> tuple[Tenure, ...]:
    return tuple(_tenure(one) for one in raw)


def _tenure(raw: Any) -> Tenure:
    about, token, since, left, broken = raw
    holder, metadata, detached = read_about(about)
    return Tenure(
        holder=holder,
        token=token,
        weight=1,
        since=since / 1e6,
        expires_in=left / 1e6,
        metadata=metadata,
        broken=broken.decode(),
        detached=detached,
    )
