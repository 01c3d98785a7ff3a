"""Taking a lock away from its holder: marked, told, passed on; or by force."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import pytest

from holdfast import Conflict, LockLost
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

TTL = 6
"""Long enough not to end by itself; a third of it is when a holder without an inbox is told."""


class TestBreaking:
    """``break_lock``."""

    pytestmark = pytest.mark.anyio

    async def test_the_holder_is_told(self, world: World) -> None:
        """The holder of a broken lock hears of it soon, with the reason."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=TTL)
        broken = await bob.break_lock("x", lease.token, reason="the host is on fire")
        assert broken.token == lease.token
        assert broken.holder == alice.client.holder
        await eventually_async(lambda: lease.lost, 5.0, "the loss")
        with pytest.raises(LockLost, match="the host is on fire"):
            lease.check()
        with pytest.raises(LockLost, match="the host is on fire"):
            await alice.release(lease)

    async def test_it_passes_on_when_the_holder_lets_go(self, world: World) -> None:
        """A broken lock stays with its holder until that acknowledges, then the next gets it."""
        alice, bob = world.party(), world.party()
        stay = await alice.enter("x", ttl=TTL, on_loss="raise")
        pending = await world.in_line(bob)
        await bob_breaks(world, stay.lease.token)
        await eventually_async(lambda: stay.lease.lost, 5.0, "the loss")
        seen = await world.look()
        assert [one.token for one in seen.holders] == [stay.lease.token]
        assert seen.holders[0].broken == "enough"
        assert not pending.done()
        with pytest.raises(LockLost, match="enough"):
            await stay.leave()
        lease = await pending
        assert lease.token > stay.lease.token

    async def test_a_stopped_body_passes_it_on_by_itself(self, world: World) -> None:
        """With ``stop`` the body is ended, which is the acknowledgement."""
        alice, bob = world.party(), world.party()
        stay = await alice.enter("x", ttl=TTL, on_loss="stop")
        pending = await world.in_line(bob)
        await bob_breaks(world, stay.lease.token)
        with pytest.raises(LockLost, match="enough"):
            await stay.ended()
        assert (await pending).held

    async def test_it_ends_with_its_ttl_if_the_holder_says_nothing(self, world: World) -> None:
        """A marked grant cannot be renewed: without a word from its holder it runs out."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.brief)
        await bob.break_lock("x", lease.token)
        assert (await bob.acquire("x", wait=5)).token > lease.token
        assert lease.lost

    async def test_force_passes_it_on_at_once(self, world: World) -> None:
        """By force the next one gets in although the holder has not let go."""
        alice, bob = world.party(), world.party()
        stay = await alice.enter("x", ttl=TTL, on_loss="raise")
        pending = await world.in_line(bob)
        await bob_breaks(world, stay.lease.token, force=True)
        lease = await pending
        assert lease.token > stay.lease.token
        await eventually_async(lambda: not stay.lease.held, 5.0, "the loss")
        with pytest.raises(LockLost):
            await stay.leave()
        assert lease.held

    async def test_another_token_is_a_conflict(self, world: World) -> None:
        """Whoever looked too long ago breaks nothing, and is told who holds it now."""
        alice, bob = world.party("alice"), world.party()
        old = await alice.acquire("x")
        await alice.release(old)
        lease = await alice.acquire("x")
        with pytest.raises(Conflict, match="alice"):
            await bob.break_lock("x", old.token)
        assert lease.held
        await alice.release(lease)
        with pytest.raises(Conflict, match="nobody"):
            await bob.break_lock("x", lease.token, force=True)

    async def test_breaking_twice_is_harmless(self, world: World) -> None:
        """The mark can be set again, or turned into force."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=TTL)
        await bob.break_lock("x", lease.token, reason="first")
        await bob.break_lock("x", lease.token, reason="second", force=True)
        assert (await bob.acquire("x", wait=0)).held
        await eventually_async(lambda: lease.lost, 5.0, "the loss")

    async def test_the_holder_can_break_its_own(self, world: World) -> None:
        """Breaking one's own lock is like having it broken."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=TTL)
        await alice.break_lock("x", lease.token, reason="my own")
        await eventually_async(lambda: lease.lost, 5.0, "the loss")
        with pytest.raises(LockLost, match="my own"):
            await alice.release(lease)
        assert (await alice.acquire("x", wait=3)).held


async def bob_breaks(world: World, token: int, *, force: bool = False) -> None:
    """Let somebody from outside break ``x``."""
    await world.party().break_lock("x", token, reason="enough", force=force)
