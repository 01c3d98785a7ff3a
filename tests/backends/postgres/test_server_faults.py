"""The server dies, comes back, loses its tables, pauses, or throws everybody out.

In each case nobody meets anybody, tokens go up, and everybody goes on by himself.
"""

import time

import pytest

from holdfast import BackendUnavailable
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.waiting import usual_gap
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import Room, Workers, world_at
from tests.servers.postgres import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES), pytest.mark.timeout(60)]

THROW_OUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name LIKE 'holdfast %' AND pid <> pg_backend_pid()
"""


async def test_a_server_that_comes_back(mode: Mode) -> None:
    """Killed and started again twice while three clients work: all go on, nobody meets."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=1) for _ in range(3)], room, ttl=1.0)
            await workers.go_on(20)
            for killed in (True, False):
                server.restart(killed=killed)
                await workers.go_on(20)
            await workers.stop()
            assert room.violations == []


async def test_tables_that_are_dropped(mode: Mode) -> None:
    """A schema that is dropped is made again by whoever asks next; who held something is told."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=6)
            server.ask("DROP SCHEMA holdfast CASCADE")
            dropped_at = time.monotonic()
            assert await alice.begin_wait_lost(lease, 5) is True
            assert time.monotonic() - dropped_at < 4
            after = await bob.acquire("x")
            assert after.token > lease.token


async def test_rows_that_are_deleted(mode: Mode) -> None:
    """A holder whose grant was taken out of the table knows within about a third of its ttl."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=6)
            server.ask("TRUNCATE holdfast.seats, holdfast.waiters")
            truncated_at = time.monotonic()
            assert await alice.begin_wait_lost(lease, 5) is True
            assert time.monotonic() - truncated_at < 4
            assert (await bob.acquire("x")).token > lease.token


async def test_sessions_that_are_terminated(mode: Mode) -> None:
    """pg_terminate_backend of everybody: the holder keeps its lease, the waiter its place."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=2)
            pending = await world.in_line(bob)
            for _ in range(3):
                assert server.ask(THROW_OUT) != []
                await world.pass_time(0.7)
                assert lease.held
            assert (await world.look()).waiters == 1
            released_at = time.monotonic()
            await alice.release(lease)
            assert (await pending).held
            assert time.monotonic() - released_at < 4


async def test_sessions_that_are_terminated_all_the_time(mode: Mode) -> None:
    """Thrown out again and again under load: nobody meets, everybody goes on."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=2) for _ in range(4)], room, ttl=1.0)
            for _ in range(8):
                await workers.go_on(3)
                server.ask(THROW_OUT)
            await workers.go_on(10)
            await workers.stop()
            assert room.violations == []


async def test_a_server_that_becomes_read_only(mode: Mode) -> None:
    """Refused in words, known to have changed nothing; once it is writable all goes on."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice = world.party(call_limit=1)
            await alice.release(await alice.acquire("x"))
            server.ask("ALTER SYSTEM SET default_transaction_read_only = on")
            server.ask("SELECT pg_reload_conf()")

            seen: list[BackendUnavailable] = []

            async def refused() -> bool:
                try:
                    await alice.release(await alice.acquire("x", wait=0))
                except BackendUnavailable as error:
                    if "read-only" in error.message:  # on a busy machine it may be slow as well
                        seen.append(error)
                return bool(seen)

            await eventually_async(refused, 10.0, "to be refused in these words")
            assert seen[0].outcome == "none"
            server.ask("ALTER SYSTEM RESET ALL")
            server.ask("SELECT pg_reload_conf()")
            assert (await alice.acquire("x", wait=5)).held


async def test_wait_0_in_quarantine_is_unavailable(mode: Mode) -> None:
    """Who will not wait is told why nothing is granted; who waits is served when it is over."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine="6s"), mode) as world:
            alice = world.party()
            with pytest.raises(BackendUnavailable, match="just started") as error:
                await alice.acquire("x", wait=0)
            assert error.value.outcome == "none"
            assert (await alice.acquire("x", wait=10)).held


async def test_no_session_stays_after_close(mode: Mode) -> None:
    """A client that is closed has left the server."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x"))

        async def nobody() -> bool:
            sessions = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'"
            return server.ask(sessions) == []

        await eventually_async(nobody, 8.0, "nobody connected")


async def test_who_looked_first_is_told_all_the_same(mode: Mode) -> None:
    """A connection that was open before anybody waited becomes an inbox, too."""
    with PostgresServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            alice, bob = world.party(), world.party()
            for party in (alice, bob):
                await party.show("x")
            gap = await usual_gap(world, alice, bob)
            assert gap < 0.25  # by the tick it would be half a second
