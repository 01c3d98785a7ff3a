"""``replicas=N``: a grant counts only when N replicas have it."""

from typing import Any

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, LockBusy
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.party import AnyLease, Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import world_at
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


async def test_too_few_replicas(mode: Mode) -> None:
    """What no replica has confirmed is given back, and the error says why."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0, replicas=1), mode) as world:
            alice = world.party(call_limit=3)
            with pytest.raises(BackendUnavailable, match="replicas=1"):
                await alice.acquire("x", wait=0)
            await world.pass_time(0.5)
            assert not (await world.look()).held


async def test_too_few_replicas_for_several_names(mode: Mode) -> None:
    """All of them are given back; a name that is busy is simply busy, since nothing was granted."""
    with RedisServer() as server:
        async with world_at(server.url(quarantine=0), mode) as world:
            make = Client if mode == "sync" else AsyncClient
            wary = make(server.url(quarantine=0, replicas=1), prefix=world.prefix, call_limit=3)
            world._clients.append(wary)
            alice, careful = world.party(), world.party(client=wary)
            every: Any = careful.client.lock_all(["a", "b"], wait=0)
            with pytest.raises(BackendUnavailable, match="replicas=1"):
                await careful.take(every)
            await eventually_async(lambda: _free(alice), 8.0, "free names")
            await alice.acquire("b")
            with pytest.raises(LockBusy, match="'b'"):
                await careful.take(every)


async def _free(party: Party) -> bool:
    return await party.locks() == []


@pytest.mark.timeout(40)
async def test_enough_replicas(mode: Mode) -> None:
    """Taken, renewed, waited for and handed over with one replica that keeps up."""
    with RedisServer() as server, RedisServer(replicaof=f"127.0.0.1 {server.port}") as replica:
        async with world_at(server.url(quarantine=0, replicas=1), mode) as world:
            alice, bob = world.party(wait=8), world.party()

            lease = await _first(world, alice)
            pending = await world.in_line(bob)
            await world.pass_time(1.2)
            assert lease.held
            await alice.release(lease)
            assert (await pending).token > lease.token
            assert replica.running


async def _first(world: World, alice: Party) -> AnyLease:
    """Take it as soon as the replica is in step."""
    for _ in range(40):
        try:
            return await alice.acquire("x", ttl=5)
        except BackendUnavailable:
            await world.pass_time(0.1)
    pytest.fail("the replica never confirmed anything")
