"""Cancelled, or interrupted, at whatever point: no claim is left behind, and the client goes on."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.testing.suite.cranks import Interrupted
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

STRUCK_ELSEWHERE = (
    "a thread can only be interrupted at random, in the harness too; tests/flows strikes the flows"
    " at every single point"
)


def interrupting_at(kind: str) -> Callable[[Any], None]:
    """Make an observer that interrupts whoever causes an event of this kind."""

    def observe(event: Any) -> None:
        if type(event).__name__ == kind:
            raise Interrupted

    return observe


class TestInterruption:
    """The end that comes from outside."""

    pytestmark = pytest.mark.anyio

    async def test_an_interrupted_wait_leaves_the_line(self, world: World) -> None:
        """A wait that is cancelled gives its place up at once, and the next one moves up."""
        world.only("async", STRUCK_ELSEWHERE)
        alice, bob, carol = world.party(), world.party(), world.party()
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        behind = await world.in_line(carol)
        pending.interrupt()
        with pytest.raises(Interrupted):
            await pending
        seen = await world.look()
        assert [place.holder.client for place in seen.queue] == [carol.client.holder.client]
        await alice.release(held)
        assert (await behind).held

    async def test_an_interrupted_party_goes_on(self, world: World) -> None:
        """After an interruption the same client, owner and lock object work as before."""
        world.only("async", STRUCK_ELSEWHERE)
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        pending.interrupt()
        with pytest.raises(Interrupted):
            await pending
        await alice.release(held)
        assert (await bob.acquire("x")).held

    @pytest.mark.parametrize("event", ["Claimed", "Granted"])
    async def test_interrupted_around_the_grant(self, world: World, event: str) -> None:
        """Interrupted just before the claim or just after its grant: nothing is held."""
        alice = world.party(observers=[interrupting_at(event)])
        with pytest.raises(Interrupted):
            await alice.acquire("x", ttl=60)
        assert not (await world.look()).held
        bob = world.party()
        assert (await bob.acquire("x", wait=0)).held

    async def test_interrupted_while_the_backend_is_silent(self, world: World) -> None:
        """Cancelled while asking a backend that does not answer: the claim never comes to life."""
        world.only("async", "a thread that waits for a reply is interrupted after it")
        outage = world.unreachable()
        alice = world.party()
        await alice.acquire("warm")
        with outage:
            pending = alice.begin_acquire("x", ttl=60)
            await world.pass_time(0.2)
            pending.interrupt()
            await eventually_async(pending.done, 8.0, "the end of the cancelled call")
            with pytest.raises(Interrupted):
                await pending

        async def free() -> bool:
            seen = await world.look()
            return not seen.held and not seen.waiters

        await eventually_async(free, 5.0, "a free name")
        assert (await alice.acquire("x", wait=3)).held

    async def test_an_interrupted_release_still_releases(self, world: World) -> None:
        """A release that is cancelled is carried out all the same, soon after."""
        world.only("async", "a thread that waits for a reply is interrupted after it")
        outage = world.unreachable()
        alice = world.party()
        lease = await alice.acquire("x", ttl=60)
        with outage:
            pending = alice.begin(lease.release)
            await world.pass_time(0.1)
            pending.interrupt()
            with pytest.raises(Interrupted):
                await pending
            assert not lease.held
        bob = world.party()
        assert (await bob.acquire("x", wait=5)).held
