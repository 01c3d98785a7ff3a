"""Requests as statements: no I/O, the same for both wires.

What most calls ask has a statement with parameters of its own; everything else, and whatever is
asked together, travels as one JSON text. Spans are microseconds on the way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    Advance,
    Break,
    Claim,
    ListNames,
    Look,
    Release,
    Renew,
    Request,
    Want,
    Withdraw,
)
from holdfast.values import Holder

if TYPE_CHECKING:
    from holdfast.rules.bucket_messages import BucketRequest
    from holdfast.rules.record_messages import RecordRequest

BATCH = 1000
"""At most so many requests go in one statement: it keeps their rows locked until it is done."""

REMEMBERED = 10_000

_quoted = json.encoder.encode_basestring


class Statement(NamedTuple):
    """One statement, ready to be sent, and the requests it carries, each with its place."""

    name: str
    text: bytes
    values: tuple[bytes | None, ...]
    requests: tuple[Request, ...]
    places: tuple[int, ...] = (0,)

    @property
    def many(self) -> bool:
        """Whether the reply is a list of replies."""
        return self.name == "ask_many"


class Post:
    """Writes the statements of one client."""

    def __init__(self, schema: str, prefix: str, quarantine: float) -> None:
        self._start = prefix.encode(), b"%d" % int(quarantine * 1e6)
        counts = (("claim", 14), ("finish", 5), ("ask_many", 3))
        self.texts = {name: _call(f"{schema}.{name}", count) for name, count in counts}
        self._tails: dict[tuple[Want, Holder, str, float], _Tail] = {}

    def statement(self, request: Request) -> Statement:
        """Write one request."""
        match request:
            case Claim():
                name, values = "claim", self._claim(request)
            case Release():
                name, values = "finish", (request.name.encode(), request.claim_id.encode(), b"r")
            case Withdraw():
                name, values = "finish", (request.name.encode(), request.claim_id.encode(), b"w")
            case _:
                return self.batch([(0, request)])
        return Statement(name, self.texts[name], (*self._start, *values), (request,))

    def batch(self, asked: Sequence[tuple[int, Request]]) -> Statement:
        """Write many, each with its place; sorted by name, so that rows are locked in one order."""
        ordered = sorted(asked, key=_by_name)
        text = f"[{','.join([self._json(request) for _, request in ordered])}]"
        return Statement(
            "ask_many",
            self.texts["ask_many"],
            (*self._start, text.encode()),
            tuple([request for _, request in ordered]),
            tuple([place for place, _ in ordered]),
        )

    def statements(self, asked: Sequence[tuple[int, Request]]) -> list[Statement]:
        """Write many in as few statements as is sensible."""
        if len(asked) == 1:
            place, request = asked[0]
            return [self.statement(request)._replace(places=(place,))]
        ordered = sorted(asked, key=_by_name)
        return [self.batch(ordered[at : at + BATCH]) for at in range(0, len(ordered), BATCH)]

    def _claim(self, claim: Claim) -> tuple[bytes | None, ...]:
        tail = self._tail(claim)
        return (
            claim.name.encode(),
            claim.claim_id.encode(),
            b"%d" % claim.seen_token,
            *tail.values,
        )

    def _tail(self, claim: Claim) -> _Tail:
        """Write the rest of a claim; all but the token it has seen is the same every time."""
        key = (claim.want, claim.holder, claim.inbox, claim.patience)
        tail = self._tails.get(key)
        if tail is None:
            if len(self._tails) >= REMEMBERED:
                self._tails.clear()
            tail = self._tails[key] = _tail(claim)
        return tail

    def _json(self, request: Request) -> str:
        if isinstance(request, Claim):
            name, seen = _quoted(request.name), request.seen_token
            return f'["claim",{name},"{request.claim_id}",{seen},{self._tail(request).text}]'
        if isinstance(request, Release):
            return f'["finish",{_quoted(request.name)},"{request.claim_id}","r"]'
        return json.dumps(_seldom(request), separators=(",", ":"))


class _Tail(NamedTuple):
    """What is the same in every claim of a lock: as parameters, and as JSON."""

    values: tuple[bytes | None, ...]
    text: str


def _tail(claim: Claim) -> _Tail:
    kind, capacity, weight, ttl, metadata, detached = claim.want
    numbers = [capacity, weight, int(ttl * 1e6), int(claim.patience * 1e6)]
    holder = json.dumps([storable(word) for word in claim.holder], ensure_ascii=False)
    about = without_nul(metadata) if metadata else None
    flag = "true" if detached else "false"
    words = [_quoted(kind), *map(str, numbers), _quoted(claim.inbox), holder, about or "null", flag]
    values = (kind, *map(str, numbers), claim.inbox, holder, about, flag)
    encoded = tuple([None if value is None else value.encode() for value in values])
    return _Tail(encoded, ",".join(words))


def _seldom(request: Request) -> list[object]:  # noqa: PLR0911 - one for each
    match request:
        case Withdraw():
            return ["finish", request.name, request.claim_id, "w"]
        case Renew():
            items = [
                (claim_id, token, int(ttl * 1e6), int(patience * 1e6))
                for claim_id, token, ttl, patience in request.items
            ]
            return ["renew", request.name, items]
        case Advance():
            return ["advance", request.name, request.claim_id]
        case Break():
            return ["break", request.name, request.token, storable(request.reason), request.force]
        case Look():
            return ["look", request.name]
        case ListNames():
            return ["list", storable(request.prefix), request.after, request.limit]
        case Claim() | Release():
            raise TypeError("these are written by hand")
        case ClaimAll():
            raise TypeError("several names are claimed one by one here")
        case _:
            return _to_family(request)


def _to_family(request: RecordRequest | BucketRequest) -> list[object]:
    from holdfast.backends.postgres import family_requests  # locks alone do without

    return family_requests.written(request)


def _call(function: str, count: int) -> bytes:
    places = ", ".join(f"${at + 1}" for at in range(count))
    return f"SELECT {function}({places})".encode()


def _by_name(asked: tuple[int, Request]) -> tuple[bytes, int]:
    """Sort by the names' bytes, and what has one name by where it is kept."""
    request = asked[1]
    if isinstance(request, ListNames):
        return b"", 0
    return request.name.encode(), 0 if isinstance(request, CLAIM_REQUESTS) else 1


def storable(word: object) -> object:
    """Put a sign in the place of the one character that PostgreSQL cannot keep in a text."""
    return word.replace("\x00", "\u2400") if isinstance(word, str) else word


def without_nul(metadata: str) -> str:
    """Do the same in JSON text, where it is written as an escape."""
    if "\\u0000" not in metadata:
        return metadata
    return json.dumps(_mapped(json.loads(metadata)), ensure_ascii=False, separators=(",", ":"))


def _mapped(thing: object) -> object:
    if isinstance(thing, dict):
        return {storable(key): _mapped(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_mapped(one) for one in thing]
    return storable(thing)
