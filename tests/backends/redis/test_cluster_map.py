"""Who has which slot: a map with a hole in it, or from a node that knows nothing, does not last."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast import BackendUnavailable
from holdfast.backends.redis.keys import KeyRing
from holdfast.backends.redis.topology import ClusterMap
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.party import Party
from holdfast.testing.watching import eventually
from tests.backends.redis.stage import world_at
from tests.servers.cluster import RedisCluster
from tests.servers.redis import RedisServer
from tests.servers.topology import owner_port

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Three masters that serve what they have, also while a slot has none."""
    with RedisCluster(cluster_require_full_coverage="no") as running:
        yield running


def _map_of(party: Party) -> ClusterMap:
    backend: Any = party.client._engine.backend
    topology: ClusterMap = backend._office.topology
    return topology


@contextmanager
def _unserved(cluster: RedisCluster, slot: int) -> Iterator[None]:
    """Let nobody have a slot for a while."""
    owner = cluster.owner(slot)
    for node in cluster.nodes:
        node.ask("CLUSTER", "DELSLOTS", slot)
    try:
        yield
    finally:
        owner.ask("CLUSTER", "ADDSLOTS", slot)
        eventually(lambda: all(owner_port(node, slot) == owner.port for node in cluster.nodes))


async def test_a_redirection_while_the_map_is_in_doubt(cluster: RedisCluster, mode: Mode) -> None:
    """One caller lost its server, another is sent on: one slot is not taken for the whole map."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        alice = world.party()
        await alice.release(await alice.acquire("x"))
        slots, slot = _map_of(alice), KeyRing(world.prefix).of("x").slot
        owner = slots.known(slot)
        assert owner is not None
        slots.suspect()
        slots.moved(slot, owner)
        assert slots.masters() == ()
        await alice.release(await alice.acquire("y", wait=10))
        assert len(slots.masters()) == 3


async def test_a_slot_that_gets_a_master_later(cluster: RedisCluster, mode: Mode) -> None:
    """While nobody has it, the error says so; once somebody has, it is found."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        slot = KeyRing(world.prefix).of("x").slot
        alice = world.party(call_limit=3)
        with _unserved(cluster, slot), pytest.raises(BackendUnavailable, match="has no master"):
            await alice.acquire("x", wait=0)
        await alice.release(await alice.acquire("x", wait=10))


async def test_a_node_that_knows_of_no_slots(cluster: RedisCluster, mode: Mode) -> None:
    """It was taken out of its cluster and is still named first: the others are asked, too."""
    with RedisServer(cluster=True) as stranger:
        named = cluster.url(quarantine=0).replace("://", f"://127.0.0.1:{stranger.port},")
        async with world_at(named, mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x", wait=10))


async def test_names_are_listed_while_the_first_slot_has_no_master(
    cluster: RedisCluster, mode: Mode
) -> None:
    """No name in use is in it: the others are listed, and a waiter hears of its grant."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        alice, bob = world.party(), world.party()
        assert KeyRing(world.prefix).of("x").slot != 0
        with _unserved(cluster, 0):
            held = await alice.acquire("x")
            assert [seen.name for seen in await bob.locks()] == ["x"]
            pending = await world.in_line(bob)
            await alice.release(held)
            await bob.release(await pending)


async def test_a_listing_never_takes_a_doubted_map_for_an_empty_one(
    cluster: RedisCluster, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another caller has just begun to doubt: that is told, not that nothing is held."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        alice = world.party(call_limit=1)
        await alice.acquire("x")
        with monkeypatch.context() as doubt:
            doubt.setattr(_map_of(alice), "masters", tuple)
            with pytest.raises(BackendUnavailable, match="no slot has a master"):
                await alice.locks()
        assert [seen.name for seen in await alice.locks()] == ["x"]
