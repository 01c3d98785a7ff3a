"""A server that evicts takes whole keys, of one name too: what is left has to heal by itself.

Six clients take turns, and each asks every second as a keeper does. In the middle one key goes.
"""

from __future__ import annotations

from itertools import count
from typing import Literal

import pytest

from holdfast.rules.messages import (
    Advance,
    Claim,
    Ended,
    Granted,
    Item,
    Look,
    Release,
    Renew,
    Renewed,
    Reply,
    Seen,
    Waiting,
    Want,
)
from holdfast.values import Holder
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_record import DUMP, stored
from tests.backends.redis.differential_server import ServerSide
from tests.servers.shared import SharedServer

CLIENTS = 6
ROUNDS = 12
"""In this many seconds six who hold for a second each are through, and nobody was jammed."""

KEYS = ("record", "ended", "queue", "patience", "waiters")


class Turns:
    """Clients that wait for their turn, hold for a moment and leave."""

    def __init__(self, side: ServerSide) -> None:
        self.side = side
        self.state: dict[int, Literal["new", "waits", "holds", "done"]] = {}
        self.tokens: list[int] = []
        self._ids = map(claim_id_of, count())
        self._claims: dict[int, Claim] = {}
        for client in range(CLIENTS):
            self._ask_anew(client)

    def pass_a_second(self) -> None:
        """Let everybody who is not through ask once, then let the holder leave."""
        self.side.now += 1.0
        for client, state in self.state.items():
            if state == "new":
                self._ask_anew(client)
            elif state != "done":
                self._keep_alive(client)
        holders = [client for client, state in self.state.items() if state == "holds"]
        assert len(holders) <= 1
        for client in holders:
            self.side.ask(Release(NAME, self._claims[client].claim_id))
            self.state[client] = "done"

    def all_done(self) -> bool:
        """Whether everybody had a turn."""
        return set(self.state.values()) == {"done"}

    def _ask_anew(self, client: int) -> None:
        inbox = self.side.inbox(f"client{client}")
        holder, want = Holder(f"client{client}", "host", client), Want("lock", 1, 1, 10.0)
        claim = Claim(NAME, next(self._ids), want, holder, inbox, 3.0)
        self._claims[client] = claim
        self._hear(client, self.side.ask(claim))

    def _keep_alive(self, client: int) -> None:
        item = Item(self._claims[client].claim_id, 0, 10.0, 3.0)
        reply = self.side.ask(Renew(NAME, (item,)))
        assert isinstance(reply, Renewed)
        self._hear(client, reply.answers[0])

    def _hear(self, client: int, reply: Reply) -> None:
        if isinstance(reply, Granted):
            if self.state.get(client) != "holds":
                self.tokens.append(reply.token)
            self.state[client] = "holds"
        else:
            self.state[client] = "new" if isinstance(reply, Ended) else "waits"


@pytest.mark.parametrize("inboxes", ["open", "closed"])
@pytest.mark.parametrize("key", KEYS)
def test_a_queue_heals_when_a_key_is_evicted(
    redis_server: SharedServer, key: str, inboxes: str
) -> None:
    """All have their turn one at a time, as soon as ever, and nothing is left over."""
    with ServerSide(redis_server) as side:
        for client in range(CLIENTS):
            if inboxes == "open":
                side.listen(side.inbox(f"client{client}"))
        turns = Turns(side)
        turns.pass_a_second()
        side.line.ask("DEL", side.post.keys.of(NAME).all[KEYS.index(key)])
        for _ in range(ROUNDS):
            turns.pass_a_second()
            assert _without_end(side) == []
        assert turns.all_done()
        assert turns.tokens == sorted(set(turns.tokens))

        side.now += 3.0
        side.ask(Advance(NAME, claim_id_of(-1)))
        raw = side.line.ask("EVAL", DUMP, 5, *side.post.keys.of(NAME).all)
        assert stored(NAME, raw).record.idle  # and its parts fit each other
        seen = side.ask(Look(NAME))
        assert isinstance(seen, Seen)
        assert not seen.locks[0].queue


def test_who_joins_after_the_record_was_evicted_keeps_its_place(redis_server: SharedServer) -> None:
    """What is left of the old queue is swept away before the new one begins, not with it."""
    with ServerSide(redis_server) as side:
        for number in range(4):
            side.ask(claim_of(side, number, patience=3.0))
        side.line.ask("DEL", side.post.keys.of(NAME).all[0])
        side.ask(claim_of(side, 4))
        assert isinstance(side.ask(claim_of(side, 5, patience=3.0)), Waiting)
        reply = side.ask(Renew(NAME, (Item(claim_id_of(5), 0, 10.0, 3.0),)))
        assert isinstance(reply, Renewed)
        assert isinstance(reply.answers[0], Waiting)


def test_tombstones_end_though_their_key_was_evicted(redis_server: SharedServer) -> None:
    """Neither the quick nor the long way of a release begins a text that would stay for ever."""
    with ServerSide(redis_server) as side:
        for number, patience in enumerate((0.0, 0.0, 0.0, 3.0)):
            side.ask(claim_of(side, number))
            side.ask(claim_of(side, 10 + number, patience=patience))
            side.line.ask("DEL", side.post.keys.of(NAME).all[1])
            side.ask(Release(NAME, claim_id_of(number)))
            assert _without_end(side) == []


def _without_end(side: ServerSide) -> list[bytes]:
    """Name the keys that would stay for ever."""
    return [key for key in side.all_keys() if side.line.ask("PTTL", key) == -1]
