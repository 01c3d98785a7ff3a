"""Behind a transaction pooler: correct, only slower to wake up, and no session state anywhere."""

import time
from collections.abc import Iterator

import pytest

from holdfast import Client
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.waiting import usual_gap
from tests.backends.redis.stage import Room, Workers, world_at
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import shared_postgres

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed"),
    pytest.mark.timeout(60),
    pytest.mark.anyio,
]


@pytest.fixture
def pooler() -> Iterator[PgBouncer]:
    """Give a transaction pooler in front of the shared server."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    with PgBouncer(server.port) as one:
        yield one


def test_a_pooler_is_noticed(pooler: PgBouncer) -> None:
    """The client knows that nobody can listen there, and says so; directly it is not so."""
    with Client(pooler.url(quarantine=0)) as client, client.lock("x"):
        assert client.capabilities.wakeup == "tick"
        assert any("pooler" in note for note in client.capabilities.notes)
    with Client(shared_postgres().url(quarantine=0)) as client, client.lock("x"):
        assert client.capabilities.wakeup == "push"


@pytest.mark.parametrize("mode", MODES)
async def test_a_waiter_is_served_by_the_tick(pooler: PgBouncer, mode: Mode) -> None:
    """Nobody is told, so the keeper's look once a second finds out."""
    async with world_at(pooler.url(quarantine=0), mode) as world:
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=30)
        pending = await world.in_line(bob)
        released_at = time.monotonic()
        await alice.release(lease)
        assert (await pending).held
        assert time.monotonic() - released_at < 3


@pytest.mark.parametrize("mode", MODES)
async def test_eight_clients_share_three_sessions(pooler: PgBouncer, mode: Mode) -> None:
    """More clients than sessions, prepared statements nowhere: nobody meets anybody."""
    async with world_at(pooler.url(quarantine=0), mode) as world:
        room = Room()
        workers = Workers([world.party() for _ in range(8)], room, ttl=2.0)
        await workers.go_on(12, within=40)
        await workers.stop()
        assert room.violations == []
    server = shared_postgres()
    left = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    assert server.ask(left) == [(0,)]


async def test_directly_and_through_the_pooler(pooler: PgBouncer) -> None:
    """Both meet at the same table; who can be told is told."""
    async with world_at(shared_postgres().url(quarantine=0), "sync") as world:
        through = Client(pooler.url(quarantine=0), prefix=world.prefix)
        alice, bob = world.party(client=through), world.party()
        gap = await usual_gap(world, alice, bob)
        assert gap < 0.25  # by the tick it would be half a second
        through.close()
