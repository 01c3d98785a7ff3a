"""Losing a lease: noticed on the holder's own clock, told once, not confused with a release."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import threading

import pytest

from holdfast import LockLost
from holdfast.testing.suite.party import AnyLease, Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


async def lost_lease(world: World, party: Party, **terms: object) -> AnyLease:
    """Acquire ``x`` and let the lease end by itself."""
    lease = await party.acquire("x", ttl=world.short, renew=False, **terms)
    await eventually_async(lambda: lease.lost, 5.0, "the end of the lease")
    return lease


class TestLoss:
    """What the holder of a lost lease gets to know."""

    pytestmark = pytest.mark.anyio

    async def test_check_tells_at_once(self, world: World) -> None:
        """``check`` is silent while the lease is good and raises ``LockLost`` from its end on."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.brief, renew=False)
        lease.check()
        await eventually_async(lambda: not lease.held, 5.0, "the end of the lease")
        with pytest.raises(LockLost) as lost:
            lease.check()
        assert (lost.value.name, lost.value.token) == ("x", lease.token)
        assert lost.value.reason
        assert lost.value.reason in str(lost.value)

    async def test_check_can_look_ahead(self, world: World) -> None:
        """``check(at_least=…)`` asks whether there is enough time left for what comes next."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=5)
        lease.check(at_least=1)
        lease.check("2s")
        with pytest.raises(LockLost):
            lease.check(at_least=60)
        assert lease.held

    async def test_lost_is_not_released(self, world: World) -> None:
        """A lost lease is lost and not held; a released one is neither."""
        alice, bob = world.party(), world.party()
        lost = await lost_lease(world, alice)
        assert (lost.held, lost.lost, lost.remaining) == (False, True, 0)
        released = await bob.acquire("y")
        await bob.release(released)
        assert (released.held, released.lost, released.remaining) == (False, False, 0)

    async def test_releasing_a_lost_lease_says_so_once(self, world: World) -> None:
        """The first release of a lost lease raises ``LockLost``; repeating it is harmless."""
        alice = world.party()
        lease = await lost_lease(world, alice)
        with pytest.raises(LockLost):
            await alice.release(lease)
        await alice.release(lease)

    async def test_a_lost_lease_does_not_disturb_the_next_holder(self, world: World) -> None:
        """Releasing what is lost leaves the rival's lease alone."""
        alice, bob = world.party(), world.party()
        lease = await lost_lease(world, alice)
        rival = await bob.acquire("x")
        with pytest.raises(LockLost):
            await alice.release(lease)
        assert await alice.try_acquire("x") is None
        assert rival.held
        assert rival.token > lease.token

    async def test_on_lost_is_called_once(self, world: World) -> None:
        """A callback hears of the loss exactly once, whichever way it is noticed first."""
        alice = world.party()
        calls: list[str] = []
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        lease.on_lost(lambda: calls.append("first"))
        lease.on_lost(lambda: calls.append("second"))
        await eventually_async(lambda: len(calls) == 2, 5.0, "both callbacks")
        with pytest.raises(LockLost):
            await alice.release(lease)
        assert calls == ["first", "second"]

    async def test_on_lost_comes_at_once_if_it_is_too_late(self, world: World) -> None:
        """A callback given after the loss was told is called right away."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        told: list[str] = []
        lease.on_lost(lambda: told.append("early"))
        await eventually_async(lambda: told, 5.0, "the loss")
        await alice.do(lambda: lease.on_lost(lambda: told.append("late")))
        await eventually_async(lambda: told == ["early", "late"], 5.0, "the late callback")

    async def test_on_lost_is_called_where_it_is_of_use(self, world: World) -> None:
        """In async the callback runs on the loop; in sync on a thread that is not the holder's."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        where: list[threading.Thread] = []
        lease.on_lost(lambda: where.append(threading.current_thread()))
        holders = await alice.do(threading.current_thread)
        await eventually_async(lambda: where, 5.0, "the callback")
        assert (where[0] is holders) == (world.mode == "async")

    async def test_on_lost_is_silent_after_a_release(self, world: World) -> None:
        """Nobody is told of the end of a lease that was given back."""
        alice = world.party()
        calls: list[str] = []
        lease = await alice.acquire("x", ttl=world.brief, renew=False)
        lease.on_lost(lambda: calls.append("lost"))
        await alice.release(lease)
        await world.pass_time(1.1 * world.brief)
        assert calls == []

    async def test_wait_lost_returns_on_loss(self, world: World) -> None:
        """``wait_lost`` is true when the lease is lost."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        assert await alice.begin_wait_lost(lease) is True
        assert await alice.begin_wait_lost(lease) is True

    async def test_wait_lost_returns_when_the_wait_is_over(self, world: World) -> None:
        """``wait_lost`` is false when the lease has outlived the wait."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.steady)
        assert await alice.begin_wait_lost(lease, 0.4 * world.steady) is False
        assert lease.held

    async def test_wait_lost_returns_on_release(self, world: World) -> None:
        """``wait_lost`` is false, and at once, when somebody releases the lease meanwhile."""
        alice = world.party()
        watcher = world.party(client=alice.client)
        lease = await alice.acquire("x", ttl=60)
        pending = watcher.begin_wait_lost(lease)
        await alice.release(lease)
        await eventually_async(pending.done, 5.0, "the end of wait_lost")
        assert await pending is False

    async def test_a_failing_callback_hurts_nobody(self, world: World) -> None:
        """What one callback raises does not keep the next from being called."""
        alice = world.party()
        if world.mode == "async":
            pytest.skip("the event loop itself reports what a callback on it raises")
        calls: list[str] = []
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        lease.on_lost(_fail)
        lease.on_lost(lambda: calls.append("second"))
        await eventually_async(lambda: calls, 5.0, "the second callback")
        other = await alice.acquire("y", ttl=world.steady)
        await world.until_renewed(other)
        assert other.held


def _fail() -> None:
    raise RuntimeError("a callback of the user fails")
