"""The scripts on a real server whose clock the test moves.

They are the shipped ones but for one line: where they ask the server for the time, they read the
test's clock. What is published under a prefix is heard by pattern, which the server does not count
as listening to an inbox: so what goes to a closed inbox is heard too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from hashlib import sha1
from itertools import groupby
from typing import Any, Self

from holdfast.backends.redis import replies
from holdfast.backends.redis.calls import Bundle, Call
from holdfast.backends.redis.requests import Asked, Letter, Post, command
from holdfast.backends.redis.scripts import script
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import Notice, Reply
from tests.backends.redis.differential_line import Line
from tests.servers.scope import Scoped
from tests.servers.shared import SharedServer

SCRIPTS = ("claim", "claim_all", "end", "renew", "advance", "break", "look")
START = 1_700_000_000.0

_CLOCK = f"holdfast-test:clock:{os.getpid()}:{os.urandom(4).hex()}"
_ASKS_THE_TIME = "local clock = call('TIME')"
_READS_THE_CLOCK = f"local clock = call('HMGET', '{_CLOCK}', 'seconds', 'microseconds')"


class ServerSide(Scoped):
    """One prefix on a server; ``now`` is the time there, in seconds."""

    def __init__(
        self,
        server: SharedServer,
        *,
        prefix: str = "",
        quarantine: float = 0.0,
        clustered: bool = False,
    ) -> None:
        prefix = prefix or f"t{{{os.urandom(6).hex()}}}%"
        self.post = Post(prefix, quarantine, clustered=clustered)
        self.line = Line(server)
        self.now = START
        self.names: set[str] = set()
        self.listening: set[str] = set()

    def start(self) -> Self:
        """Connect, hear everything and make the server know the scripts."""
        self.line.start()
        self.line.exchange([command("SCRIPT", "LOAD", _clocked(one)[0]) for one in SCRIPTS])
        self.line.say("PSUBSCRIBE", self.inbox("*"), "")  # and what is meant for nobody
        return self

    def close(self) -> None:
        """Leave nothing on the server."""
        try:
            self.line.ask("DEL", _CLOCK, self.post.keys.birth, *self.all_keys())
        finally:
            self.line.close()

    def inbox(self, client: str) -> str:
        """Name the inbox of a client."""
        return self.post.keys.inbox(client)

    def listen(self, inbox: str) -> None:
        """Open an inbox."""
        self.listening.add(inbox)
        self.line.say("SUBSCRIBE", inbox)

    def leave(self, inbox: str) -> None:
        """Close an inbox."""
        self.listening.discard(inbox)
        self.line.say("UNSUBSCRIBE", inbox)

    def all_keys(self) -> list[bytes]:
        """Name the keys of all names that were asked about."""
        return [key for name in self.names for key in self.post.keys.of(name).all]

    def ask(self, request: Asked) -> Reply:
        """Ask one thing."""
        letter = self.post.letter(request)
        ((reply,),) = self.read([letter], self.send([letter]))
        return reply

    def bundled(self, requests: Sequence[Asked]) -> list[Letter]:
        """Write letters as a line for tasks does: neighbours of one kind become one command."""
        letters: list[Letter] = []
        for call, group in groupby(requests, self._call):
            if call is None:
                letters += self.post.letters(enumerate(group))
                continue
            bundle = Bundle(call)
            alike = tuple(group)
            for request in alike:
                if (parcel := self.post.parcel(request)) is not None:
                    bundle.keys.append(parcel[1])
                    bundle.words.append(parcel[2])
            letters.append(Letter(bundle.written(), call.script, alike))
        return letters

    def _call(self, request: Asked) -> Call | None:
        parcel = None if self.post.clustered else self.post.parcel(request)
        return None if parcel is None else parcel[0]

    def send(self, letters: Sequence[Letter], *more: bytes) -> list[Any]:
        """Send letters and further commands at once, and give the raw replies."""
        asked = [request for letter in letters for request in letter.requests]
        self.names.update(name for request in asked for name in names_of(request))
        seconds, rest = divmod(round(self.now * 1_000_000), 1_000_000)
        clock = command("HSET", _CLOCK, "seconds", seconds, "microseconds", rest)
        return self.line.exchange([clock, *map(_clocked_data, letters), *more])[1:]

    def read(self, letters: Sequence[Letter], raw: list[Any]) -> list[list[Reply]]:
        """Read raw replies: for each letter one reply per request; errors are raised."""
        return [_read(letter, one) for letter, one in zip(letters, raw, strict=True)]

    def notices(self) -> list[Notice | None]:
        """Give what was published since this was last asked for."""
        self.line.ask("PING")  # what was said before it is heard before its answer
        return self.heard()

    def heard(self) -> list[Notice | None]:
        """Give what was heard so far."""
        heard, self.line.heard = self.line.heard, []
        return [replies.read_notice(*one) for one in heard]


def names_of(request: Asked) -> list[str]:
    """Name what a request is about."""
    if isinstance(request, ClaimAll):
        return [claim.name for claim in request.claims]
    return [request.name]


def _read(letter: Letter, raw: list[Any]) -> list[Reply]:
    if letter.script.name != "renew":
        alone = len(letter.requests) == 1
        pairs = zip(letter.requests, [raw] if alone else raw, strict=True)
        return [replies.read(request, one) for request, one in pairs]
    read: list[Reply] = []
    for one in replies.read_renewals(letter.requests, raw):
        if isinstance(one, Exception):
            raise one
        read.append(one)
    return read


@cache
def _clocked(name: str) -> tuple[bytes, bytes]:
    """Give a script that reads the test's clock: its text and its hash."""
    text = script(name).body.decode()
    assert text.count(_ASKS_THE_TIME) == 1
    body = text.replace(_ASKS_THE_TIME, _READS_THE_CLOCK).encode()
    return body, sha1(body, usedforsecurity=False).hexdigest().encode()


def _clocked_data(letter: Letter) -> bytes:
    """Give the bytes of a letter, addressed to the script that reads the test's clock."""
    assert letter.data.count(letter.script.sha) == 1
    return letter.data.replace(letter.script.sha, _clocked(letter.script.name)[1])
