"""A backend out of reach: leases end on time, calls end on time, waits ride it over."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import time

import pytest

from holdfast import BackendUnavailable, LockLost
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


class TestOutage:
    """Reaching is not waiting."""

    pytestmark = pytest.mark.anyio

    async def test_call_limit_bounds_the_first_answer(self, world: World) -> None:
        """Until the first reply ``call_limit`` bounds the attempt, whatever ``wait`` says."""
        outage = world.unreachable()
        alice = world.party(call_limit=1.0)
        await alice.show("x")
        with outage:
            for wait in (None, 0, 30):
                began = time.monotonic()
                with pytest.raises(BackendUnavailable):
                    await alice.acquire("x", wait=wait)
                assert 0.6 < time.monotonic() - began < 6
        assert (await alice.acquire("x", wait=3)).held

    async def test_a_waiter_rides_over_an_outage(self, world: World) -> None:
        """Once in the queue an outage shorter than the patience costs nobody his place."""
        outage = world.unreachable()
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x", ttl=60)
        pending = await world.in_line(bob)
        with outage:
            await world.pass_time(1.5)
            assert not pending.done()
        assert (await world.look()).waiters == 1
        await alice.release(held)
        assert (await pending).held

    async def test_a_wait_that_ends_in_an_outage_is_unavailable(self, world: World) -> None:
        """What is unresolved when ``wait`` ends is ``BackendUnavailable``, and dies by itself."""
        outage = world.unreachable()
        alice, bob = world.party(), world.party(call_limit=1.0)
        held = await alice.acquire("x", ttl=60)
        pending = await world.in_line(bob, wait=1.5)
        with outage, pytest.raises(BackendUnavailable) as error:
            await pending
        assert error.value.outcome == "unknown"

        async def gone() -> bool:
            return (await world.look()).waiters == 0

        await eventually_async(gone, 5.0, "the end of the claim")
        assert held.held

    async def test_a_lease_is_lost_before_its_ttl(self, world: World) -> None:
        """Out of reach for longer than its ttl, a lease is lost by its holder's own clock."""
        outage = world.unreachable()
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.brief)
        with outage:
            began = time.monotonic()
            believes_for = lease.remaining
            assert await alice.begin_wait_lost(lease, 10) is True
        assert believes_for < world.brief
        assert time.monotonic() - began < world.brief + 2
        with pytest.raises(LockLost):
            lease.check()

    async def test_a_short_outage_is_survived(self, world: World) -> None:
        """A renewal without an answer neither loses the lease nor is forgotten."""
        outage = world.unreachable()
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.steady)
        with outage:
            await world.pass_time(0.4 * world.steady)  # a renewal goes unanswered
            assert lease.held
        await world.pass_time(0.7 * world.steady)
        assert lease.held
        assert await bob.try_acquire("x") is None

    async def test_a_release_without_an_answer_is_not_an_error(self, world: World) -> None:
        """The work is done: a release that fails is told to observers, and made up for later."""
        outage = world.unreachable()
        events: list[str] = []
        alice = world.party(
            call_limit=1.0, observers=[lambda event: events.append(type(event).__name__)]
        )
        lease = await alice.acquire("x", ttl=60)
        with outage:
            await alice.release(lease)
            assert "ReleaseFailed" in events
            assert not lease.held
        bob = world.party()
        assert (await bob.acquire("x", wait=5)).held

    async def test_looking_has_its_limit_too(self, world: World) -> None:
        """Breaking a lock on a silent backend ends after ``call_limit``."""
        outage = world.unreachable()
        alice = world.party(call_limit=1.0)
        lease = await alice.acquire("x", ttl=60)
        with outage:
            began = time.monotonic()
            with pytest.raises(BackendUnavailable):
                await alice.break_lock("x", lease.token + 1)  # it may be carried out later
            assert time.monotonic() - began < 6
        assert lease.held
