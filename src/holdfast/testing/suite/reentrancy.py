"""The same owner again: let in, refused at once, or simply busy, but never a silent deadlock."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import pytest

from holdfast import LockBusy, LockLost, Misuse
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


class TestReentrancy:
    """One thread or task that asks twice."""

    pytestmark = pytest.mark.anyio

    async def test_waiting_for_oneself_is_refused(self, world: World) -> None:
        """An owner that would wait for itself is told at once, and what to do instead."""
        alice = world.party()
        lease = await alice.acquire("x")
        for wait in (None, 5):
            with pytest.raises(Misuse, match="reentrant=True"):
                await alice.acquire("x", wait=wait)
        assert lease.held
        assert (await world.look()).waiters == 0

    async def test_one_try_is_just_busy(self, world: World) -> None:
        """With ``wait=0`` the same owner is told that the name is busy."""
        alice = world.party()
        await alice.acquire("x")
        assert await alice.try_acquire("x") is None
        with pytest.raises(LockBusy):
            await alice.acquire("x", wait=0)

    async def test_reentrant_lets_the_owner_in_again(self, world: World) -> None:
        """With ``reentrant=True`` the owner gets the same lease; the last release counts."""
        alice, bob = world.party(), world.party()
        lock = alice.lock("x", reentrant=True)
        first = await alice.take(lock)
        second = await alice.take(lock)
        third = await alice.take(alice.lock("x", reentrant=True, wait=0))
        assert first is second is third
        for _ in range(2):
            await alice.release(first)
            assert first.held
            assert await bob.try_acquire("x") is None
        await alice.release(first)
        assert not first.held
        assert (await bob.acquire("x", wait=0)).held

    async def test_reentrant_is_not_for_others(self, world: World) -> None:
        """Another owner waits, also with ``reentrant=True`` and in the same client."""
        alice = world.party()
        twin = world.party(client=alice.client)
        lease = await alice.acquire("x", reentrant=True)
        with pytest.raises(LockBusy):
            await twin.acquire("x", reentrant=True, wait=0)
        pending = await world.in_line(twin, reentrant=True)
        await alice.release(lease)
        assert (await pending).held

    async def test_nested_bodies(self, world: World) -> None:
        """Nested ``with``s on a reentrant lock release when the outermost is left."""
        alice = world.party()
        lock = alice.lock("x", reentrant=True)
        stay = await alice.enter_all(lock, lock, lock)
        assert (await world.look()).held
        await stay.leave()
        assert not (await world.look()).held

    async def test_a_lost_lease_is_not_entered_again(self, world: World) -> None:
        """Whoever lost a reentrant lock gets a new lease with a larger token."""
        alice = world.party()
        lock = alice.lock("x", reentrant=True, ttl=world.short, renew=False)
        first = await alice.take(lock)
        await eventually_async(lambda: not first.held, 5.0, "the end of the lease")
        second = await alice.take(lock)
        assert second.token > first.token
        with pytest.raises(LockLost):
            await alice.release(first)
        assert second.held or second.lost

    async def test_a_loss_is_told_to_every_level(self, world: World) -> None:
        """Whoever swallows it inside is told again outside, and after the last release no more."""
        alice, bob = world.party(), world.party()
        lock = alice.lock("x", reentrant=True, on_loss="raise")
        lease = await alice.take(lock)
        assert await alice.take(lock) is lease
        await bob.break_lock("x", lease.token)
        await eventually_async(lambda: not lease.held, 10.0, "the end of the lease")
        for _ in range(2):
            with pytest.raises(LockLost):
                await alice.release(lease)
        await alice.release(lease)

    async def test_a_released_lease_can_be_waited_for(self, world: World) -> None:
        """That an owner once held a name does not keep it from waiting for it."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x")
        await alice.release(lease)
        rival = await bob.acquire("x")
        pending = await world.in_line(alice)
        await bob.release(rival)
        assert (await pending).held

    async def test_released_by_another_owner(self, world: World) -> None:
        """An owner whose lease somebody else released owns nothing any more."""
        alice = world.party()
        twin = world.party(client=alice.client)
        await twin.release(await alice.acquire("x"))
        assert (await alice.acquire("x")).held
