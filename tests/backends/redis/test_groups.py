"""Fail-overs and moving slots in the middle of things: everybody goes on, nobody meets anybody."""

from typing import Any

import pytest

from holdfast.backends.redis.keys import KeyRing
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import Room, Workers, world_at
from tests.servers.cluster import RedisCluster
from tests.servers.sentinel import RedisSentinels

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(90),
    pytest.mark.parametrize("mode", MODES),
]


async def test_sentinels_name_another_master(mode: Mode) -> None:
    """The master is killed while clients work: they find the next one, and tokens go up."""
    with RedisSentinels() as group:
        async with world_at(group.url(quarantine=0, replicas=1), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=2) for _ in range(3)], room, ttl=1.0)
            await workers.go_on(20)
            group.fail_over()
            group.bring_back()  # replicas=1 grants nothing while there is no replica
            await workers.go_on(20, within=30)
            await workers.stop()
            assert room.violations == []


async def test_an_ordered_fail_over_keeps_waiters(mode: Mode) -> None:
    """Who held goes on holding, who waited goes on waiting, on the new master."""
    with RedisSentinels() as group:
        async with world_at(group.url(quarantine=0), mode) as world:
            alice, bob = world.party(call_limit=2), world.party(call_limit=2)
            lease = await alice.acquire("x", ttl=10)
            pending = await world.in_line(bob)
            group.fail_over(by_killing=False)
            new = group.master().address

            async def both_know() -> bool:
                backends: list[Any] = [one.client._engine.backend for one in (alice, bob)]
                return all(one._office.topology.masters() == (new,) for one in backends)

            # The old master thinks for a while that it still is one; only the keepers' look at the
            # sentinels, each second, takes these two away from it.
            await eventually_async(both_know, 6.0, "news of the new master")
            assert lease.held
            assert not pending.done()
            await alice.release(lease)
            assert (await pending).token > lease.token


async def test_a_slot_that_moves(mode: Mode) -> None:
    """ASK while it moves, MOVED afterwards: holder and waiter notice nothing."""
    with RedisCluster() as cluster:
        async with world_at(cluster.url(quarantine=0), mode) as world:
            alice, bob, cy = world.party(), world.party(), world.party()
            lease = await alice.acquire("x", ttl=6)
            pending = await world.in_line(bob)
            slot = KeyRing(world.prefix).of("x").slot
            old = cluster.owner(slot)
            new = next(node for node in cluster.masters() if node is not old)
            cluster.begin_move(slot, new)
            trying = cy.begin(lambda: cy.lock("x").try_acquire())
            cluster.move_keys(slot, new)
            await world.pass_time(0.5)  # half moved: scripts are refused with TRYAGAIN, and wait
            cluster.finish_move(slot, new)
            assert await trying is None
            await world.pass_time(6)
            assert lease.held
            await alice.release(lease)
            assert (await pending).token > lease.token


async def test_a_master_of_a_cluster_dies(mode: Mode) -> None:
    """Its replica takes over, and everybody goes on there."""
    with RedisCluster(replicas=True) as cluster:
        async with world_at(cluster.url(quarantine=0), mode) as world:
            room = Room()
            workers = Workers([world.party(call_limit=2) for _ in range(3)], room, ttl=1.0)
            await workers.go_on(20)
            cluster.kill_owner(KeyRing(world.prefix).of("room").slot)
            await workers.go_on(20, within=30)
            await workers.stop()
            # Replication is asynchronous: a grant of the last moment may be forgotten, and only the
            # token protects then. Tokens go up all the same.
            assert [one for one in room.violations if "token" in one] == []
