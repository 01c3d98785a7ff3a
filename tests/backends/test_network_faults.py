"""Replies that never come, peers that fall silent, networks that part: through a proxy.

A reply is lost *after* the server did what it was asked: the hardest case, since asking again must
neither do it twice nor report what is not so.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.scripts import script
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import Room, Workers, proxied, world_at
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer
from tests.servers.shared import shared_server
from tests.servers.shared_postgres import shared_postgres


class Far(NamedTuple):
    """A server that is reached through a proxy, and how to tell what it is asked for."""

    url: Callable[[], str]
    address: Callable[[], tuple[str, int]]
    claim: bytes
    renew: bytes
    release: bytes

    def through(self, proxy: Proxy) -> str:
        """Give its URL by way of a proxy."""
        return proxied(self.url(), proxy.port)


def _address(server: object) -> tuple[str, int]:
    assert isinstance(server, (RedisServer, PostgresServer))
    return server.address


REDIS = Far(
    lambda: shared_server().url(quarantine=0),
    lambda: _address(shared_server()),
    *(script(name).sha for name in ("claim", "renew", "end")),
)
POSTGRES = Far(
    lambda: shared_postgres().url(quarantine=0),
    lambda: _address(shared_postgres()),
    *(b"claim", b'"renew"', b"finish"),
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize("far", [REDIS, POSTGRES], ids=["redis", "postgres"]),
]


async def test_a_lost_reply_to_a_claim(far: Far, mode: Mode) -> None:
    """The claim is asked again and answered with the grant it already has: nothing leaks."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            alice, bob = world.party(), world.party()
            await alice.release(await alice.acquire("x"))
            proxy.drop_reply(far.claim)
            began = time.monotonic()
            lease = await alice.acquire("x", ttl=5)
            assert proxy.dropped_replies == 1
            assert time.monotonic() - began < 3
            seen = await world.look()
            assert (len(seen.holders), seen.waiters) == (1, 0)
            await alice.release(lease)
            assert (await bob.acquire("x", wait=0)).held


async def test_a_lost_reply_to_a_renewal(far: Far, mode: Mode) -> None:
    """Neither lost nor believed: asked again."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            alice = world.party()
            lease = await alice.acquire("x", ttl=4)
            proxy.drop_reply(far.renew, times=2)
            await eventually_async(lambda: proxy.dropped_replies == 2, 5.0, "two lost replies")
            await world.until_renewed(lease)
            assert lease.held


async def test_a_lost_reply_to_a_release(far: Far, mode: Mode) -> None:
    """It was given back; nobody is told otherwise, and the next one gets in at once."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            events: list[str] = []
            alice = world.party(observers=[lambda event: events.append(type(event).__name__)])
            bob = world.party()
            lease = await alice.acquire("x", ttl=30)
            proxy.drop_reply(far.release)
            await alice.release(lease)
            assert proxy.dropped_replies == 1
            assert "Released" in events
            assert "Lost" not in events
            assert (await bob.acquire("x", wait=0)).held


async def test_a_lost_reply_to_a_claim_that_waits(far: Far, mode: Mode) -> None:
    """It keeps the one place it has, and is served from there."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=30)
            await bob.show("x")
            proxy.drop_reply(far.claim)
            pending = await world.in_line(bob)
            await eventually_async(lambda: proxy.dropped_replies == 1, 8.0, "one lost reply")
            assert (await world.look()).waiters == 1
            await alice.release(lease)
            assert (await pending).held


async def test_a_partition_longer_than_the_ttl(far: Far, mode: Mode) -> None:
    """The holder stops by its own clock before anybody else can get in."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.url(), mode) as world:
            apart = world.unkept_client(holder="apart")
            apart = type(apart)(far.through(proxy), prefix=world.prefix, call_limit=1)
            alice, bob = world.party("alice", client=apart), world.party("bob")
            lease = await alice.acquire("x", ttl=1.5)
            pending = await world.in_line(bob)
            proxy.silence()
            assert await alice.begin_wait_lost(lease, 5) is True
            next_one = await pending
            assert next_one.token > lease.token
            # The server's clock is this host's: both moments can be laid side by side.
            let_in_at = next_one.acquired_at - time.time() + clock.now()
            assert lease._state.deadline < let_in_at
            proxy.mend()
            closing = apart.close()
            if closing is not None:
                await closing


async def test_a_silent_peer_is_noticed(far: Far, mode: Mode) -> None:
    """Without a reset, without a word: the call ends on time, and the next connection works."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            alice = world.party(call_limit=1.5)
            await alice.show("x")
            proxy.silence()
            began = time.monotonic()
            with pytest.raises(BackendUnavailable):
                await alice.acquire("x", wait=None)
            assert time.monotonic() - began < 6
            proxy.mend()
            assert (await alice.acquire("x")).held


@pytest.mark.timeout(60)
async def test_connections_that_are_cut_all_the_time(far: Far, mode: Mode) -> None:
    """Cut twenty times under load: nobody meets, everybody goes on."""
    with Proxy(far.address()) as proxy:
        async with world_at(far.through(proxy), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=2) for _ in range(4)], room, ttl=1.0)
            for politely in (True, False) * 10:
                await workers.go_on(3)
                proxy.cut(politely=politely)
            await workers.go_on(10)
            await workers.stop()
            assert room.violations == []
