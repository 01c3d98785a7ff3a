"""Requests to a voter as commands: no I/O, the same for both wires. Counterpart: ``replies``.

A command is the same for every voter but for one word, the id of the process that is asked: so
what is a request's own is written once, and what many requests have in common once for each
process. Claims and ends of many names can then travel as one command, as on a single server.
"""

from __future__ import annotations

from typing import TypeAlias

from holdfast.backends.redis.about import described
from holdfast.backends.redis.calls import Call, Parcel
from holdfast.backends.redis.keys import REMEMBERED, KeyRing, packed
from holdfast.backends.redis.requests import Word
from holdfast.backends.redlock.scripts import script
from holdfast.rules.messages import Break, Claim, Look, Release, Renew, Want, Withdraw
from holdfast.rules.quorum_messages import Admit, Stand, Undo, VoterRequest
from holdfast.values import KINDS, Holder

SUFFIXES = ("", ":ended")
"""The keys of a name: its slip, and the ids that ended there lately."""

_ENDS: dict[type, bytes] = {Release: b"r", Withdraw: b"w", Undo: b"x"}
MOST_PROCESSES = 100


class Manner:
    """What requests of one kind have in common, but for the process that is asked.

    ``common`` are the words that all share, ``each`` is the number of those that a request adds;
    ``along``: several of them can be one command.
    """

    __slots__ = ("_calls", "_parts", "along")

    def __init__(
        self,
        called: str,
        own: bytes,
        common: tuple[bytes, ...],
        each: int,
        *,
        named: bool = True,
        along: bool = False,
    ) -> None:
        self.along = along
        self._parts = (called, own, common, each, len(SUFFIXES) if named else 0)
        self._calls: dict[bytes, Call] = {}

    def call(self, run: bytes) -> Call:
        """Give the call of the process ``run``; two that are the same can travel together."""
        return self._calls.get(run) or self._call(run)

    def _call(self, run: bytes) -> Call:
        called, own, common, each, keys_each = self._parts
        if len(self._calls) >= MOST_PROCESSES:
            self._calls.clear()
        call = Call(script(called), (own,), (run, *common), each, keys_each)
        return self._calls.setdefault(run, call)


Sheet: TypeAlias = tuple[Manner, bytes, bytes]
"""One request for any voter: its manner, its keys, and its own words, both packed."""


class Post:
    """Writes the commands of one client."""

    def __init__(self, prefix: str) -> None:
        self.keys = KeyRing(f"{prefix}:quorum", SUFFIXES)
        self._own = self.keys.birth
        self._ends = {
            kind: Manner("end", self._own, (how,), 1, along=True) for kind, how in _ENDS.items()
        }
        self._claims: dict[tuple[Want, Holder, str, float], Manner] = {}
        self._seldom: dict[tuple[str, int], Manner] = {}
        self._last: tuple[object, Sheet] = (None, (self._ends[Undo], b"", b""))

    def parcel(self, request: VoterRequest, run: bytes) -> Parcel:
        """Write a request for one process; the same goes to all of them, one after the other."""
        last, sheet = self._last
        if last is not request:
            sheet = self.sheet(request)
            self._last = request, sheet
        manner, keys, words = sheet
        return manner.call(run), keys, words

    def sheet(self, request: VoterRequest) -> Sheet:
        """Write a request, for whichever voter."""
        if isinstance(request, Claim):
            name, claim_id, want, holder, inbox, patience, seen = request
            manner = self._claims.get((want, holder, inbox, patience)) or self._claim(request)
            words = packed(claim_id.encode()) + packed(b"%d" % seen)
            return manner, self.keys.of(name).packed, words
        end = self._ends.get(type(request))
        if end is not None:
            own = packed(request.claim_id.encode())  # type: ignore[union-attr]  # each has one
            return end, self.keys.of(request.name).packed, own  # type: ignore[union-attr]
        return self._other(request)

    def _claim(self, claim: Claim) -> Manner:
        want = claim.want
        about = described(claim.holder, want.metadata, detached=want.detached)
        spans = int(want.ttl * 1e6), int(claim.patience * 1e6), KINDS.index(want.kind) + 1
        common = (*(b"%d" % span for span in spans), claim.inbox.encode(), about.encode())
        manner = Manner("claim", self._own, common, 2, along=True)
        if len(self._claims) >= REMEMBERED:
            self._claims.clear()
        self._claims[want, claim.holder, claim.inbox, claim.patience] = manner
        return manner

    def _other(self, request: VoterRequest) -> Sheet:
        words: list[Word] = []
        called, name = "stand", ""
        match request:
            case Renew():
                called, name = "renew", request.name
                for item in request.items:
                    words += (item.claim_id, item.token, int(item.ttl * 1e6))
            case Break():
                called, name = "break", request.name
                words += (request.token, request.reason, b"1" if request.force else b"0")
            case Look():
                called, name = "look", request.name
            case Admit():
                words.append(request.floor)
            case Stand():
                pass
            case Claim() | Release() | Withdraw() | Undo():
                raise AssertionError("these have a way of their own")
        manner = self._seldom.get((called, len(words)))
        if manner is None:
            manner = Manner(called, self._own, (), len(words), named=bool(name))
            self._seldom[called, len(words)] = manner
        keys = self.keys.of(name).packed if name else b""
        return manner, keys, b"".join(packed(_word(word)) for word in words)


def _word(word: Word) -> bytes:
    if isinstance(word, bytes):
        return word
    return word.encode() if isinstance(word, str) else b"%d" % word
