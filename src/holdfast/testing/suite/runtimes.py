"""Threads and tasks on one backend: a sync and an async client are parties like any other two."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import pytest

from holdfast import LockLost
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


class TestRuntimes:
    """One client of each kind."""

    pytestmark = pytest.mark.anyio

    async def test_they_exclude_each_other(self, world: World) -> None:
        """What a client of one runtime holds, a client of the other does not get."""
        alice, bob = world.party("here"), world.party("there", mode=world.other_mode)
        lease = await alice.acquire("x")
        assert await bob.try_acquire("x") is None
        assert (await bob.show("x")).holder == alice.client.holder
        await alice.release(lease)
        assert (await bob.acquire("x", wait=0)).token > lease.token

    async def test_they_hand_over_to_each_other(self, world: World) -> None:
        """The queue does not know runtimes."""
        world.require("queue")
        alice, bob = world.party(), world.party(mode=world.other_mode)
        carol = world.party()
        held = await alice.acquire("x")
        bobs = await world.in_line(bob)
        carols = await world.in_line(carol)
        await alice.release(held)
        lease = await bobs
        assert not carols.done()
        await bob.release(lease)
        assert (await carols).token > lease.token

    async def test_they_break_each_others_locks(self, world: World) -> None:
        """A lock can be broken from the other runtime, and its holder hears of it."""
        alice, bob = world.party(), world.party(mode=world.other_mode)
        lease = await alice.acquire("x", ttl=3)
        await bob.break_lock("x", lease.token, reason="from the other side")
        await eventually_async(lambda: lease.lost, 8.0, "the loss")
        with pytest.raises(LockLost, match="from the other side"):
            await alice.release(lease)
