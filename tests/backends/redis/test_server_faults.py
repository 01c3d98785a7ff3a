"""The server dies, comes back, comes back empty, pauses, or throws everybody out.

In each case nobody meets anybody, tokens go up, and everybody goes on by himself.
"""

import time

import pytest

from holdfast import BackendUnavailable
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import Room, Workers, world_at
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


@pytest.mark.timeout(60)
async def test_a_server_that_comes_back_with_its_data(mode: Mode) -> None:
    """Killed and started again twice while three clients work: all go on, nobody meets."""
    with RedisServer(durable=True) as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=1) for _ in range(3)], room, ttl=1.0)
            await workers.go_on(20)
            for _ in range(2):
                server.restart(killed=True)
                await workers.go_on(20)
            await workers.stop()
            assert room.violations == []


@pytest.mark.timeout(60)
async def test_a_server_that_comes_back_empty(mode: Mode) -> None:
    """It grants nothing until every lease of before is over; tokens go up all the same."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine="3s"), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=1) for _ in range(3)], room, ttl=2.0)
            await workers.go_on(20)
            server.restart(wiped=True, killed=True)
            came_back_at = time.monotonic()
            entries = room.entries
            await workers.go_on(20)
            assert time.monotonic() - came_back_at > 2.0
            assert room.entries >= entries + 20
            await workers.stop()
            assert room.violations == []


async def test_wait_0_in_quarantine_is_unavailable(mode: Mode) -> None:
    """Who will not wait is told why nothing is granted; who waits is served when it is over."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine="4s"), mode) as world:
            alice = world.party()
            with pytest.raises(BackendUnavailable, match="just started") as error:
                await alice.acquire("x", wait=0)
            assert error.value.outcome == "none"
            assert (await alice.acquire("x", wait=8)).held


async def test_holders_are_told_after_flushall(mode: Mode) -> None:
    """A holder whose grant was forgotten knows within about a third of its ttl."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=6)
            server.ask("FLUSHALL")
            flushed_at = time.monotonic()
            assert await alice.begin_wait_lost(lease, 5) is True
            assert time.monotonic() - flushed_at < 4
            after = await bob.acquire("x")
            assert after.token > lease.token


async def test_another_birth_mark_ends_every_lease(mode: Mode) -> None:
    """A lease that nobody renews is told too, by whatever its client asks next."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice = world.party()
            lease = await alice.acquire("x", ttl=60, renew=False)
            server.ask("FLUSHALL")
            await alice.show("y")
            assert not lease.held


async def test_connections_that_are_thrown_out(mode: Mode) -> None:
    """CLIENT KILL of everybody: the holder keeps its lease, the waiter its place, and gets it."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=3)
            pending = await world.in_line(bob)
            for _ in range(3):
                server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                server.ask("CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
                await world.pass_time(0.7)
                assert lease.held
            assert (await world.look()).waiters == 1
            released_at = time.monotonic()
            await alice.release(lease)
            assert (await pending).held
            assert time.monotonic() - released_at < 4


async def test_a_server_that_pauses(mode: Mode) -> None:
    """CLIENT PAUSE shorter than the ttl costs nobody anything but the time."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=4)
            pending = await world.in_line(bob)
            server.ask("CLIENT", "PAUSE", 1200, "ALL")
            await world.pass_time(1.3)
            assert lease.held
            await alice.release(lease)
            assert (await pending).held


async def test_scripts_that_are_flushed(mode: Mode) -> None:
    """SCRIPT FLUSH at any moment is made good within the same call."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            for _ in range(3):
                server.ask("SCRIPT", "FLUSH")
                lease = await alice.acquire("x", ttl=3)
                server.ask("SCRIPT", "FLUSH")
                pending = await world.in_line(bob)
                server.ask("SCRIPT", "FLUSH")
                await world.until_renewed(lease)
                assert lease.held
                server.ask("SCRIPT", "FLUSH")
                await alice.release(lease)
                await bob.release(await pending)


async def test_no_connection_stays_after_close(mode: Mode) -> None:
    """A client that is closed has left the server."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x"))

        def others() -> int:
            return len(str(server.ask("CLIENT", "LIST")).strip().splitlines()) - 1

        async def nobody() -> bool:
            return others() == 0

        await eventually_async(nobody, 8.0, "nobody connected")
