"""Replies that never come, peers that fall silent, networks that part: through a proxy.

A reply is lost *after* the server did what it was asked: the hardest case, since asking again must
neither do it twice nor report what is not so.
"""

import time

import pytest

from holdfast import BackendUnavailable
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually
from tests.backends.redis.stage import Room, Workers, proxied, world_at
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


def _through(proxy: Proxy) -> str:
    return proxied(shared_postgres().url(quarantine=0), proxy.port)


def _shared() -> tuple[str, int]:
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    return server.address


async def test_a_lost_reply_to_a_claim(mode: Mode) -> None:
    """The claim is asked again and answered with the grant it already has: nothing leaks."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            alice, bob = world.party(), world.party()
            await alice.release(await alice.acquire("x"))
            proxy.drop_reply(b"claim\0")
            began = time.monotonic()
            lease = await alice.acquire("x", ttl=5)
            if not proxy.dropped_replies:  # not prepared yet on this connection
                await alice.release(lease)
                proxy.drop_reply(b"holdfast.claim(")
                lease = await alice.acquire("x", ttl=5)
            assert proxy.dropped_replies == 1
            assert time.monotonic() - began < 3
            seen = await world.look()
            assert (len(seen.holders), seen.waiters) == (1, 0)
            await alice.release(lease)
            assert (await bob.acquire("x", wait=0)).held


async def test_a_lost_reply_to_a_renewal(mode: Mode) -> None:
    """Neither lost nor believed: asked again."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            alice = world.party()
            lease = await alice.acquire("x", ttl=2)
            proxy.drop_reply(b'"renew"', times=2)
            await world.pass_time(3.0)
            assert proxy.dropped_replies == 2
            assert lease.held


async def test_a_lost_reply_to_a_release(mode: Mode) -> None:
    """It was given back; nobody is told otherwise, and the next one gets in at once."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            events: list[str] = []
            alice = world.party(observers=[lambda event: events.append(type(event).__name__)])
            bob = world.party()
            lease = await alice.acquire("x", ttl=30)
            proxy.drop_reply(b"finish")
            await alice.release(lease)
            assert proxy.dropped_replies == 1
            assert "Released" in events
            assert "Lost" not in events
            assert (await bob.acquire("x", wait=0)).held


async def test_a_lost_reply_to_a_claim_that_waits(mode: Mode) -> None:
    """It keeps the one place it has, and is served from there."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=30)
            await bob.show("x")
            proxy.drop_reply(b"claim")
            pending = await world.in_line(bob)
            eventually(lambda: proxy.dropped_replies == 1, 2.0, "one lost reply")
            assert (await world.look()).waiters == 1
            await alice.release(lease)
            assert (await pending).held


async def test_a_partition_longer_than_the_ttl(mode: Mode) -> None:
    """The holder stops by its own clock before anybody else can get in."""
    with Proxy(_shared()) as proxy:
        async with world_at(shared_postgres().url(quarantine=0), mode) as world:
            apart = world.unkept_client(holder="apart")
            apart = type(apart)(_through(proxy), prefix=world.prefix, call_limit=1)
            alice, bob = world.party("alice", client=apart), world.party("bob")
            lease = await alice.acquire("x", ttl=1.5)
            pending = await world.in_line(bob)
            proxy.silence()
            assert await alice.begin_wait_lost(lease, 5) is True
            assert not pending.done()
            assert (await pending).token > lease.token
            proxy.mend()
            closing = apart.close()
            if closing is not None:
                await closing


async def test_a_silent_peer_is_noticed(mode: Mode) -> None:
    """Without a reset, without a word: the call ends on time, and the next connection works."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            alice = world.party(call_limit=0.6)
            await alice.show("x")
            proxy.silence()
            began = time.monotonic()
            with pytest.raises(BackendUnavailable):
                await alice.acquire("x", wait=None)
            assert time.monotonic() - began < 2
            proxy.mend()
            assert (await alice.acquire("x")).held


@pytest.mark.timeout(60)
async def test_connections_that_are_cut_all_the_time(mode: Mode) -> None:
    """Cut twenty times under load: nobody meets, everybody goes on."""
    with Proxy(_shared()) as proxy:
        async with world_at(_through(proxy), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=2) for _ in range(4)], room, ttl=1.0)
            for politely in (True, False) * 10:
                await workers.go_on(3)
                proxy.cut(politely=politely)
            await workers.go_on(10)
            await workers.stop()
            assert room.violations == []
