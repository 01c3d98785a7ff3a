"""A master that takes over in good order breaks no connection: who waits must be heard there."""

from collections.abc import Iterator

import pytest

from holdfast.backends.redis.keys import KeyRing
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually, eventually_async
from tests.backends.redis.stage import world_at
from tests.servers.cluster import RedisCluster
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Three masters, each with a replica."""
    with RedisCluster(replicas=True) as running:
        yield running


def _hears(server: RedisServer, client: str) -> bool:
    (channel,) = server.ask("PUBSUB", "CHANNELS", f"*{client}*") or [""]
    return bool(channel)


async def test_a_waiter_listens_to_the_master_that_took_over(
    cluster: RedisCluster, mode: Mode
) -> None:
    """Where nobody listens, who waits is passed over, as often as the name is given back."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=60)
        pending = await world.in_line(bob)
        old = cluster.owner(KeyRing(world.prefix).of("x").slot)
        new = cluster.replica_of(old)
        new.ask("CLUSTER", "FAILOVER")
        eventually(lambda: new.ask("ROLE")[0] == "master", 20, "a new master")
        waiting = bob.client.holder.client

        async def heard() -> bool:
            return _hears(new, waiting)

        await eventually_async(heard, 20, "the waiter to listen there")
        await alice.release(lease)
        assert (await pending).held
