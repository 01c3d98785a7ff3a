"""Requests as letters to the server, and its replies as values: no I/O, the same for both wires.

A letter is one command, ready to be sent. Renewals of many names travel in one letter where the
server allows it. Spans are microseconds on the way; holders are JSON, which the server never reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hiredis import pack_command

from holdfast.backends.redis.about import described
from holdfast.backends.redis.calls import Call, Parcel
from holdfast.backends.redis.keys import REMEMBERED, KeyRing, packed
from holdfast.backends.redis.scripts import Script, script
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    Advance,
    Break,
    Claim,
    Look,
    NameRequest,
    Release,
    Renew,
    Want,
    Withdraw,
)
from holdfast.values import KINDS, Holder

if TYPE_CHECKING:
    from holdfast.backends.redis.takes import Takes
    from holdfast.rules.bucket_messages import BucketRequest
    from holdfast.rules.record_messages import RecordRequest

BATCH = 1000
"""At most so many claims are renewed by one script: it keeps the server for a few milliseconds."""


ID_LENGTH = 16
"""How long the ids of claims are; another one is written in the long way."""

MINTED = 10**15
"""Tokens are microseconds of a clock, so they have sixteen digits: from 2001 to 2286."""

AHEAD = b"*1\r\n$4\r\nTIME\r\n"
"""What goes before a release for which somebody is likely to wait: a command of no weight, one that
whoever may call our scripts may call.

A server writes to its clients when it is through with what it has read, and first to the one that
it had something for *last*: to the one that gives back, and only then to the next in line. With
cores few, that one then waits for the other's program too. Who already has a reply coming keeps its
place behind the notice (decision 0037).
"""

Word: TypeAlias = bytes | str | int


Asked: TypeAlias = NameRequest | ClaimAll


class Letter(NamedTuple):
    """One command, the script it calls, and the requests it carries, each with its place.

    ``parts``: which part of the request in that place each of them is; most are the only one.
    """

    data: bytes
    script: Script
    requests: tuple[Asked, ...]
    places: tuple[int, ...] = (0,)
    parts: tuple[int, ...] = (0,)


class _Part(NamedTuple):
    """A renewal, or the part of a long one that fits into a letter: where it belongs."""

    place: int
    number: int
    request: Renew


class Post:
    """Writes the letters of one client.

    ``clustered``: every letter then names keys of one slot only, and the quarantine is what the
    client itself knows of the node. ``quarantine`` is in seconds.
    """

    def __init__(self, prefix: str, quarantine: float, *, clustered: bool) -> None:
        self.keys = KeyRing(prefix)
        self.clustered = clustered
        self._held_back = b"0" if clustered else _span(quarantine)
        self._birth = () if clustered else (self.keys.birth,)
        self._claims: dict[tuple[Want, Holder, str, float], Call] = {}
        self._lately: tuple[object, object, str, float, Call | None] = (None, None, "", 0.0, None)
        words = (self._held_back, b"r")
        self._release = Call(script("end"), self._birth, words, 1)
        self._awaited = Call(script("end"), self._birth, words, 1, ahead=AHEAD)
        self._takes: Takes | None = None  # since the first of them

    def letter(self, request: Asked, held_back: float = 0.0) -> Letter:
        """Write one request; ``held_back`` is what is left of a cluster node's quarantine."""
        parcel = None if held_back else self.parcel(request)
        if parcel is None:
            return self._seldom(request, held_back)
        call, keys, words = parcel
        if call is self._awaited:
            call = self._release  # a letter is one command: see ``before``
        return Letter(call.one(keys, words), call.script, (request,))

    @staticmethod
    def before(letter: Letter) -> bytes:
        """Give the command that goes before a letter when it is first sent, if any."""
        first = letter.requests[0]
        return AHEAD if isinstance(first, Release) and first.awaited else b""

    def parcel(self, request: Asked) -> Parcel | None:
        """Wrap a request so that it can travel alone or with others like it; most cannot."""
        if type(request) is Release:
            name, claim_id, awaited = request
            gives_back = self._awaited if awaited else self._release
            return gives_back, self.keys.of(name).packed, _packed(claim_id)
        if type(request) is not Claim:
            return None if self._takes is None else self._takes.parcel(request)
        name, claim_id, want, holder, inbox, patience, seen_token = request
        # Most locks of a client want the same, in the same words: to hash them all takes longer.
        same_want, same_holder, same_inbox, same_patience, call = self._lately
        if (
            call is None
            or want is not same_want
            or holder is not same_holder
            or inbox != same_inbox
            or patience != same_patience
        ):
            call = self._claims.get((want, holder, inbox, patience)) or self._claim(request)
            self._lately = want, holder, inbox, patience, call
        return call, self.keys.of(name).packed, _packed(claim_id, seen_token)

    def _seldom(self, request: Asked, held_back: float) -> Letter:
        words: tuple[Word, ...]
        names = self.keys.of(request.name).all
        match request:
            case ClaimAll():
                called, words = script("claim_all"), ()
                for claim in request.claims:
                    words += (claim.claim_id, claim.seen_token, *_wanted(claim))
                names = tuple(key for one in request.claims for key in self.keys.of(one.name).all)
            case Claim():
                words = (*_wanted(request), request.claim_id, request.seen_token)
                called = script("claim")
            case Release():
                called, words = script("end"), (b"r", request.claim_id)
            case Withdraw():
                called, words = script("end"), (b"w", request.claim_id)
            case Renew():
                return self.renewal((request,), held_back)
            case Advance():
                called, words = script("advance"), (request.claim_id,)
            case Break():
                force = b"1" if request.force else b"0"
                called, words = script("break"), (request.token, request.reason, force)
            case Look():
                called, words = script("look"), ()
            case _:
                return self._to_family(request, held_back)
        keys = (*names, *self._birth)
        quarantine = _span(held_back) if held_back else self._held_back
        data = command(b"EVALSHA", called.sha, len(keys), *keys, quarantine, *words)
        return Letter(data, called, (request,))

    def _to_family(self, request: RecordRequest | BucketRequest, held_back: float) -> Letter:
        from holdfast.backends.redis import family_requests  # locks alone do without

        name, own, words = family_requests.written(request, self.keys)
        if name == "bucket_take" and self._takes is None and not self.clustered:
            from holdfast.backends.redis.takes import Takes

            self._takes = Takes(self.keys, self._birth, self._held_back)
        called, keys = script(name), (own, *self._birth)
        quarantine = _span(held_back) if held_back else self._held_back
        data = command(b"EVALSHA", called.sha, len(keys), *keys, quarantine, *words)
        return Letter(data, called, (request,))

    def _claim(self, claim: Claim) -> Call:
        """Give what the claims of one lock have in common: all but id and token seen."""
        if len(self._claims) >= REMEMBERED:
            self._claims.clear()
        call = Call(script("claim"), self._birth, (self._held_back, *_wanted(claim)), 2)
        self._claims[claim.want, claim.holder, claim.inbox, claim.patience] = call
        return call

    def renewal(
        self,
        requests: Sequence[Renew],
        held_back: float = 0.0,
        places: tuple[int, ...] = (0,),
        parts: tuple[int, ...] = (0,),
    ) -> Letter:
        """Write one letter for all of these."""
        keys: list[bytes] = []
        words: list[Word] = []
        for request in requests:
            keys.extend(self.keys.of(request.name).all)
            words.append(len(request.items))
            for claim_id, token, ttl, patience in request.items:
                words += (claim_id, token, int(ttl * 1e6), int(patience * 1e6))
        keys.extend(self._birth)
        renew = script("renew")
        quarantine = _span(held_back) if held_back else self._held_back
        data = command(b"EVALSHA", renew.sha, len(keys), *keys, quarantine, *words)
        return Letter(data, renew, tuple(requests), places, parts)

    def glance(self, letter: Letter) -> Letter:
        """Write a look anew, for a node that a slot is being moved from or to."""
        (request,), called = letter.requests, script("glance")
        record = self.keys.of(request.name).all[0]
        data = command(b"EVALSHA", called.sha, 1, record, self._held_back)
        return letter._replace(data=data, script=called)

    def held_back(self, letter: Letter, seconds: float) -> Letter:
        """Write a letter anew, for a cluster's node that must not grant anything for so long."""
        if letter.script.name == "glance":
            return letter  # which grants nothing
        if letter.script.name == "renew":
            renewals = [request for request in letter.requests if isinstance(request, Renew)]
            return self.renewal(renewals, seconds, letter.places, letter.parts)
        return self.letter(letter.requests[0], seconds)._replace(places=letter.places)

    def letters(self, requests: Iterable[tuple[int, Asked]]) -> list[Letter]:
        """Write many, each with its place, in as few letters as the server allows."""
        letters: list[Letter] = []
        renewals: list[_Part] = []
        for place, request in requests:
            if isinstance(request, Renew):
                renewals.extend(_Part(place, *part) for part in enumerate(_parts(request)))
            else:
                letters.append(self.letter(request)._replace(places=(place,)))
        for batch in _batches(renewals, 1 if self.clustered else BATCH):
            places, parts, whole = zip(*batch, strict=True)
            letters.append(self.renewal(whole, places=places, parts=parts))
        return letters


def _wanted(claim: Claim) -> tuple[bytes, bytes, bytes]:
    """Write what is the same in every claim of a lock: what is wanted, the inbox, and by whom."""
    _, _, want, holder, inbox, patience, _ = claim
    kind, capacity, weight, ttl, metadata, detached = want
    spans = int(ttl * 1e6), int(patience * 1e6)
    wanted = struct.pack("<Bdddd", KINDS.index(kind) + 1, capacity, weight, *spans)
    about = described(holder, metadata, detached=detached)
    return wanted, inbox.encode(), about.encode()


def _packed(claim_id: str, seen_token: int = -1) -> bytes:
    """Write a claim's own words: its id, and the largest token seen if there is one."""
    if len(claim_id) == ID_LENGTH and claim_id.isascii():
        if MINTED <= seen_token < 10 * MINTED:  # at once: of known length
            return f"$16\r\n{claim_id}\r\n$16\r\n{seen_token}\r\n".encode()
        own = f"$16\r\n{claim_id}\r\n".encode()
    else:
        own = packed(claim_id.encode())
    return own if seen_token < 0 else own + packed(b"%d" % seen_token)


def command(*words: Word) -> bytes:
    """Write a plain command."""
    written: bytes = pack_command(words)  # type: ignore[arg-type]  # it takes any number of words
    return written


def _span(seconds: float) -> bytes:
    return b"%d" % int(seconds * 1e6)


def _parts(request: Renew) -> list[Renew]:
    """Cut a renewal of very many claims on one name into several."""
    name, items = request
    return [Renew(name, items[at : at + BATCH]) for at in range(0, len(items), BATCH)]


def _batches(renewals: list[_Part], most: int) -> list[list[_Part]]:
    """Put renewals together, ``most`` claims at a time (or a single renewal of more)."""
    batches: list[list[_Part]] = []
    size = most
    for part in renewals:
        count = len(part.request.items)
        if size + count > most:
            batches.append([])
            size = 0
        batches[-1].append(part)
        size += count
    return batches
