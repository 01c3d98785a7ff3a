"""What is asked again is written again: replicas confirm only what this connection wrote (WAIT).

The first answer is lost with its connection while a replica lags behind. On another connection the
same grant is found; if it were not written once more, WAIT would be content with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from holdfast import clock
from holdfast.backends.redis.link import Link, open_link
from holdfast.backends.redis.requests import Asked, Post, command
from holdfast.backends.redis.target import target_of
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import Claim, Item, Renew, Want
from holdfast.rules.record_messages import Swap
from holdfast.settings import address
from holdfast.testing.watching import eventually
from holdfast.values import Holder
from tests.servers.redis import RedisServer

HOLDER = Holder("c", "host", 1, "")
TOLD = Claim("a", "one-claim-of-ours", Want("lock", 1, 1, 60.0), HOLDER, "inbox", 0.0)
POST = Post("holdfast", 0.0, clustered=False)

AGAIN: dict[str, Asked] = {
    "claim": TOLD,
    "claims of several": ClaimAll((TOLD, TOLD._replace(name="b", claim_id="another-of-ours"))),
    "renewal that moves nothing": Renew("a", (Item(TOLD.claim_id, 0, 1.0),)),
    "swap": Swap("cell", "x", "one-swap-of-ours", b"value", 0),
}


@pytest.fixture
def pair() -> Iterator[tuple[RedisServer, RedisServer]]:
    """Give a server, and a replica that is in step with it."""
    with RedisServer() as server, RedisServer(replicaof=f"127.0.0.1 {server.port}") as replica:
        with closing(fresh(server)) as link:
            eventually(lambda: confirmed(link, command("SET", "k", "v")) == 1, 20, "a replica")
        yield server, replica
        replica.resume()


def fresh(server: RedisServer) -> Link:
    """Connect anew."""
    target = target_of(address(server.url()))
    return open_link(target, target.seeds[0], clock.now() + 5)


def confirmed(link: Link, data: bytes) -> int:
    """Send this, and say how many replicas have what was written by it a little later."""
    said, count = link.exchange(data + command("WAIT", 1, 300), 2, clock.now() + 10)
    assert not isinstance(said, Exception), said
    assert isinstance(count, int)
    return count


@pytest.mark.parametrize("what", AGAIN)
def test_what_is_asked_again_is_confirmed_anew(
    pair: tuple[RedisServer, RedisServer], what: str
) -> None:
    """Also on a connection that has written nothing so far; once the replica has it, it says so."""
    server, replica = pair
    letter = POST.letter(AGAIN[what])
    with closing(fresh(server)) as first, closing(fresh(server)) as second:
        for script in (letter.script, POST.letter(TOLD).script):
            first.exchange(command("SCRIPT", "LOAD", script.body), 1, clock.now() + 5)
        first.exchange(POST.letter(TOLD).data, 1, clock.now() + 5)
        replica.pause()
        assert confirmed(first, letter.data) == 0
        assert confirmed(second, letter.data) == 0
        replica.resume()
        eventually(lambda: confirmed(second, letter.data) == 1, 20, "the replica to confirm it")
