"""Requests to a voter as commands, and its answers as values: no I/O, the same for both wires.

A command is the same for every voter but for one word, the id of the process that is asked: so it
is written once, in two halves. Spans are microseconds on the way; holders are JSON that no server
reads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from holdfast.backends.redis.about import described, read_about
from holdfast.backends.redis.keys import KeyRing, packed
from holdfast.backends.redis.requests import Word
from holdfast.backends.redlock.scripts import script
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Break,
    Broke,
    Busy,
    Claim,
    Ended,
    Ending,
    Granted,
    Look,
    NotHeld,
    Refused,
    Release,
    Renew,
    Renewed,
    Seen,
    Withdraw,
)
from holdfast.rules.quorum_messages import (
    Admit,
    Stand,
    Stood,
    Undo,
    Unsettled,
    VoterReply,
    VoterRequest,
)
from holdfast.values import KINDS, Holder, LockInfo, Place, Tenure, printable

Halves = tuple[bytes, bytes]

_ENDINGS: dict[bytes, Ending] = {
    b"r": "released", b"w": "withdrawn", b"l": "lapsed", b"b": "broken", b"u": "unknown",
}  # fmt: skip


class Post:
    """Writes the commands of one client."""

    def __init__(self, prefix: str) -> None:
        self.keys = KeyRing(f"{prefix}:quorum")
        self._heads: dict[tuple[str, int], bytes] = {}
        self._standing = packed(self.keys.birth)
        self._last: tuple[object, Halves] = (None, (b"", b""))

    def written(self, request: VoterRequest) -> Halves:
        """Write a request: what goes before the word for the process, and what follows it."""
        last, halves = self._last
        if last is not request:  # the same goes to all servers, one after the other
            halves = self._written(request)
            self._last = request, halves
        return halves

    def _written(self, request: VoterRequest) -> Halves:
        words: tuple[Word, ...]
        match request:
            case Claim():
                called, words = "claim", _claimed(request)
            case Renew():
                called, words = "renew", _renewed(request)
            case Release():
                called, words = "end", (request.claim_id, b"r")
            case Withdraw():
                called, words = "end", (request.claim_id, b"w")
            case Undo():
                called, words = "end", (request.claim_id, b"x")
            case Break():
                force = b"1" if request.force else b"0"
                called, words = "break", (request.token, request.reason, force)
            case Look():
                called, words = "look", ()
            case Stand():
                return self._head("stand", 0, 1) + self._standing, b""
            case Admit():
                return self._head("stand", 1, 1) + self._standing, packed(_word(request.floor))
        record, ended = self.keys.of(request.name).all[:2]
        head = self._head(called, len(words), 3)
        keys = self._standing + packed(record) + packed(ended)
        return head + keys, b"".join(packed(_word(word)) for word in words)

    def _head(self, name: str, words: int, keys: int) -> bytes:
        head = self._heads.get((name, words))
        if head is None:
            called = (b"EVALSHA", script(name).sha, b"%d" % keys)
            head = b"*%d\r\n" % (3 + keys + 1 + words) + b"".join(map(packed, called))
            self._heads[name, words] = head
        return head


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


@lru_cache(maxsize=1000)
def _described(holder: Holder, metadata: str, detached: bool) -> str:  # noqa: FBT001 - a cache key
    return described(holder, metadata, detached=detached)


def _claimed(claim: Claim) -> tuple[Word, ...]:
    want = claim.want
    about = _described(claim.holder, want.metadata, want.detached)
    spans = int(want.ttl * 1e6), int(claim.patience * 1e6)
    return (
        claim.claim_id, claim.seen_token, *spans, KINDS.index(want.kind) + 1, claim.inbox, about,
    )  # fmt: skip


def _renewed(request: Renew) -> tuple[Word, ...]:
    words: list[Word] = []
    for item in request.items:
        words += (item.claim_id, item.token, int(item.ttl * 1e6))
    return tuple(words)


def _word(word: Word) -> bytes:
    if isinstance(word, bytes):
        return word
    return word.encode() if isinstance(word, str) else b"%d" % word
