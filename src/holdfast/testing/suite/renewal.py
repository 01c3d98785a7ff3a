"""A lease is renewed by itself, as far and as long as it was asked for."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import time

import pytest

from holdfast import LockBusy, LockLost, Misuse
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


class TestRenewal:
    """How long a lease lives."""

    pytestmark = pytest.mark.anyio

    async def test_a_lease_outlives_its_ttl(self, world: World) -> None:
        """A renewed lease is held for longer than its ttl, without a gap and with one token."""
        alice, bob = world.party(), world.party()
        ttl = world.steady
        lease = await alice.acquire("x", ttl=ttl)
        with pytest.raises(LockBusy):
            await bob.acquire("x", wait=1.1 * ttl)
        assert lease.held
        assert lease.remaining <= ttl
        assert (await bob.show("x")).holders[0].token == lease.token

    async def test_many_leases_are_kept_together(self, world: World) -> None:
        """One client keeps any number of leases alive, whatever their ttls."""
        alice = world.party()
        ttls = [world.steady * (1 + number / 20) for number in range(20)]
        leases = [await alice.acquire(f"x{number}", ttl=ttl) for number, ttl in enumerate(ttls)]
        await world.until_renewed(*leases)
        assert [lease.name for lease in leases if not lease.held] == []

    async def test_without_renewal_it_ends_with_its_ttl(self, world: World) -> None:
        """``renew=False``: the lease is over after its ttl, on its holder's own clock."""
        alice = world.party()
        began = time.monotonic()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        assert await alice.begin_wait_lost(lease, 10)
        assert time.monotonic() - began < world.short + 2
        assert lease.lost
        assert lease.remaining == 0
        with pytest.raises(LockLost, match="renew=False"):
            lease.check()

    async def test_an_unrenewed_lease_may_be_very_short(self, world: World) -> None:
        """Ten milliseconds will do without renewal; with it they are refused in words."""
        alice = world.party()
        with pytest.raises(Misuse, match="renew"):
            alice.lock("x", ttl=world.capabilities.min_ttl / 2)
        with pytest.raises(Misuse, match="10 ms"):
            alice.lock("x", ttl=0.005, renew=False)
        lease = await alice.acquire("x", ttl="50ms", renew=False)
        assert lease.remaining < 0.05

    async def test_the_holder_stops_before_a_rival_gets_in(self, world: World) -> None:
        """When the next one gets in, the one before has already stopped believing."""
        alice, bob = world.party(), world.party()
        for _ in range(3):
            lease = await alice.acquire("x", ttl=world.short, renew=False)
            rival = await bob.acquire("x")
            assert not lease.held
            assert lease.lost
            await bob.release(rival)

    async def test_max_hold_ends_a_renewed_lease(self, world: World) -> None:
        """``max_hold`` is the longest a lease is renewed; then it is given up, and says so."""
        alice, bob = world.party(), world.party()
        began = time.monotonic()
        lease = await alice.acquire("x", ttl=world.steady, max_hold=1.5 * world.steady)
        assert await alice.begin_wait_lost(lease, 10)
        held_for = time.monotonic() - began
        assert world.steady < held_for < 1.5 * world.steady + 2
        with pytest.raises(LockLost, match="max_hold"):
            lease.check()
        assert (await bob.acquire("x")).held

    async def test_max_hold_shorter_than_the_ttl_cuts_it(self, world: World) -> None:
        """A crash within a short ``max_hold`` blocks others for no longer than that."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=60, max_hold=world.steady)
        assert lease.remaining <= world.steady
        expires_in = (await bob.show("x")).expires_in
        assert expires_in is not None
        assert expires_in <= world.steady

    async def test_a_max_hold_too_short_to_be_of_use_is_refused(self, world: World) -> None:
        """A ``max_hold`` below the shortest life is a mistake, not a lock that cannot be got."""
        alice = world.party()
        with pytest.raises(Misuse):
            await alice.acquire("x", max_hold="1ms", wait=0.2)

    async def test_extend_makes_it_longer(self, world: World) -> None:
        """``extend`` confirms a longer life at once, and renewals go by it from then on."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.steady)
        await alice.extend(lease, 30)
        assert lease.remaining > 25
        expires_in = (await bob.show("x")).expires_in
        assert expires_in is not None
        assert expires_in > 25

    async def test_extend_never_shortens(self, world: World) -> None:
        """Asking for less than there is changes nothing."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=30)
        await alice.extend(lease, world.short)
        assert lease.remaining > 25
        expires_in = (await world.look()).expires_in
        assert expires_in is not None
        assert expires_in > 25

    async def test_extend_keeps_an_unrenewed_lease(self, world: World) -> None:
        """A lease that is not renewed by itself can be kept by hand."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.steady, renew=False)
        await alice.extend(lease, 30)
        await world.pass_time(1.1 * world.steady)
        assert lease.held

    async def test_extend_never_revives(self, world: World) -> None:
        """A lease that is over stays over, and its name belongs to whoever has it now."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        rival = await bob.acquire("x")
        with pytest.raises(LockLost):
            await alice.extend(lease, 30)
        assert rival.held
        assert (await alice.show("x")).holders[0].token == rival.token

    async def test_extend_stays_within_max_hold(self, world: World) -> None:
        """``max_hold`` binds ``extend`` as well."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.steady, max_hold=3)
        await alice.extend(lease, 30)
        assert lease.remaining <= 3

    async def test_a_lease_that_was_handed_over_is_made_full(self, world: World) -> None:
        """The short first life after a hand-over becomes the whole ttl soon after."""
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x", ttl=60)
        pending = await world.in_line(bob, ttl=60)
        await alice.release(held)
        lease = await pending
        await eventually_async(lambda: lease.remaining > 30, 5.0, "the full ttl")
