"""A cluster's node that lost its memory grants nothing before it is old enough, whoever asks.

No script of a cluster reaches both a name and its node's birth mark, so clients keep the
quarantine. A node that has just started refuses everything for two seconds (CLUSTERDOWN), also to
say how old it is; whoever connects meanwhile must not take it for one that knows who holds what.
"""

import asyncio
import time

import pytest

from holdfast import BackendUnavailable
from holdfast.backends.redis.keys import KeyRing
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from tests.backends.redis.stage import world_at
from tests.servers.cluster import RedisCluster

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

QUARANTINE = 5.0


def _slot(world: World) -> int:
    return KeyRing(world.prefix).of("x").slot


async def test_who_asks_from_the_first_moment_on(mode: Mode) -> None:
    """With connections of before or without any: nobody is let in before the quarantine is over."""
    with RedisCluster() as cluster:
        async with world_at(cluster.url(quarantine=QUARANTINE), mode) as world:
            alice, known, fresh = world.party(), world.party(), world.party()
            lease = await alice.acquire("x", ttl=QUARANTINE, wait=15)
            await known.show("x")
            cluster.owner(_slot(world)).restart(wiped=True, killed=True)
            started_at = time.monotonic()

            async def visit(party: Party) -> None:
                taken = await party.acquire("x", wait=25)
                assert time.monotonic() - started_at > QUARANTINE
                assert not lease.held
                assert taken.token > lease.token
                await party.release(taken)

            await asyncio.gather(visit(known), visit(fresh))


async def test_who_is_sent_there_by_another_node(mode: Mode) -> None:
    """A letter that was written for a node with a memory is written anew for one without."""
    with RedisCluster() as cluster:
        async with world_at(cluster.url(quarantine=QUARANTINE), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", wait=15)
            await alice.release(lease)
            await bob.show("x")  # and so knows where it was
            young = cluster.move_slot(_slot(world))
            young.restart(wiped=True, killed=True)
            started_at = time.monotonic()
            cluster.wait_until_well()
            with pytest.raises(BackendUnavailable, match="just started"):
                await bob.acquire("x", wait=0)
            assert time.monotonic() - started_at < QUARANTINE  # else this says nothing
            assert (await bob.acquire("x", wait=15)).token > lease.token
            assert time.monotonic() - started_at > QUARANTINE
