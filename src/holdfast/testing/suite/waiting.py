"""Waiting in line: first come, first served, handed over directly, and nobody waits too long."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time
from statistics import median

import pytest

from holdfast import LockBusy
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import LONG, World
from holdfast.testing.watching import eventually_async


async def usual_gap(world: World, alice: Party, bob: Party) -> float:
    """Say how long it usually takes from a release to the return of whoever waited for it."""
    gaps = []
    for _ in range(5):
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        released_at = time.monotonic()
        await alice.release(held)
        lease = await pending
        gaps.append(time.monotonic() - released_at)
        await bob.release(lease)
    return median(gaps)


class TestWaiting:
    """The queue."""

    pytestmark = pytest.mark.anyio

    async def test_a_release_hands_over(self, world: World) -> None:
        """Whoever waits gets the name when it is released, without a second try."""
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        await alice.release(held)
        lease = await pending
        assert lease.held
        assert lease.token > held.token

    async def test_a_hand_over_is_quick(self, world: World) -> None:
        """Where a backend can wake its waiters the name passes on at once, not at the next look."""
        if world.capabilities.wakeup != "push":
            pytest.skip(f"{world.backend.name} lets its waiters look once a second")
        alice, bob = world.party(), world.party()
        assert await usual_gap(world, alice, bob) < 0.25

    async def test_a_place_is_kept(self, world: World) -> None:
        """A waiter keeps its place for as long as it waits, beyond the patience of the backend."""
        world.require("queue")
        alice, bob, carol = world.party(), world.party(), world.party()
        held = await alice.acquire("x")
        bobs = await world.in_line(bob)
        carols = await world.in_line(carol)
        await world.pass_time(3.3)
        seen = await world.look()
        in_order = [bob.client.holder, carol.client.holder]
        assert [place.holder for place in seen.queue] == in_order
        await alice.release(held)
        await bob.release(await bobs)
        assert (await carols).held

    async def test_first_come_first_served(self, world: World) -> None:
        """The order of the grants is the order of the queue."""
        world.require("queue")
        alice, *others = [world.party() for _ in range(5)]
        held = await alice.acquire("x")
        pendings = [await world.in_line(party) for party in others]
        tokens = [held.token]
        await alice.release(held)
        for party, pending in zip(others, pendings, strict=True):
            lease = await pending
            tokens.append(lease.token)
            await party.release(lease)
        assert tokens == sorted(set(tokens))

    async def test_nobody_passes_a_waiter(self, world: World) -> None:
        """A newcomer does not snatch the name from the one in line when it is released."""
        world.require("queue")
        alice, bob, carol = world.party(), world.party(), world.party()
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        await alice.release(held)
        assert await carol.try_acquire("x") is None
        assert (await pending).held

    async def test_a_wait_ends(self, world: World) -> None:
        """When ``wait`` is over ``LockBusy`` says who holds and how long it was waited."""
        alice, bob = world.party("alice"), world.party()
        held = await alice.acquire("x")
        began = time.monotonic()
        with pytest.raises(LockBusy) as busy:
            await bob.acquire("x", wait=0.2)
        assert 0.2 <= time.monotonic() - began < 5
        assert busy.value.waited_for >= 0.2
        assert [one.token for one in busy.value.holders] == [held.token]
        assert "alice" in str(busy.value)

    async def test_whoever_gave_up_has_left_the_line(self, world: World) -> None:
        """A wait that ended in vain leaves no place behind, and those behind it move up."""
        alice, bob, carol = world.party(), world.party(), world.party()
        held = await alice.acquire("x")
        gave_up = await world.in_line(bob, wait=1.5)
        pending = await world.in_line(carol)
        with pytest.raises(LockBusy):
            await gave_up
        assert (await world.look()).waiters == 1
        await alice.release(held)
        assert (await pending).held

    async def test_one_try_takes_no_place(self, world: World) -> None:
        """With ``wait=0`` nobody is put in line."""
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        began = time.monotonic()
        with pytest.raises(LockBusy) as busy:
            await bob.acquire("x", wait=0)
        assert time.monotonic() - began < LONG / 2
        assert busy.value.waited_for < LONG / 2
        assert (await world.look()).waiters == 0

    async def test_waiting_for_ever_gets_there(self, world: World) -> None:
        """With ``wait=None`` the wait ends when the name is free, and not before."""
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x")
        pending = await world.in_line(bob, wait=None)
        assert not pending.done()
        await alice.release(held)
        assert (await pending).held

    async def test_wait_is_the_clients_own_unless_said_otherwise(self, world: World) -> None:
        """The client's ``wait`` is the default; the lock's, then the call's, come before it."""
        alice, bob = world.party(), world.party(wait=0)
        held = await alice.acquire("x")
        await bob.show("x")  # connecting takes its time, too
        with pytest.raises(LockBusy) as by_client:
            await bob.acquire("x")
        with pytest.raises(LockBusy) as by_lock:
            await bob.acquire("x", wait=1.2)
        lock = bob.lock("x", wait=0)
        with pytest.raises(LockBusy) as by_call:
            await bob.do(lambda: lock.acquire(wait="300ms"))
        waits = [error.value.waited_for for error in (by_client, by_lock, by_call)]
        assert waits[0] < 1.2 <= waits[1]
        assert waits[2] >= 0.3
        assert held.held

    async def test_many_owners_of_one_client_are_all_served(self, world: World) -> None:
        """One client can wait for one name many times over, and each wait is served once."""
        world.require("queue")
        alice, client = world.party(), world.client()
        held = await alice.acquire("x")
        owners = [world.party(client=client) for _ in range(4)]
        tokens: list[int] = []

        async def stand_in_line(owner: Party) -> None:
            lease = await owner.acquire("x")
            tokens.append(lease.token)
            await owner.release(lease)

        async def full() -> bool:
            return (await world.look()).waiters == 4

        crowd = [asyncio.ensure_future(stand_in_line(owner)) for owner in owners]
        await eventually_async(full, 5.0, "four in the queue")
        await alice.release(held)
        await asyncio.gather(*crowd)
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 4

    async def test_waits_for_several_names_do_not_mix(self, world: World) -> None:
        """A client that waits for two names gets each when that one is released."""
        alice, client = world.party(), world.client()
        held = {name: await alice.acquire(name) for name in ("x", "y")}
        pending = {
            name: await world.in_line(world.party(client=client), name) for name in ("x", "y")
        }
        await alice.release(held["y"])
        assert (await pending["y"]).name == "y"
        assert not pending["x"].done()
        await alice.release(held["x"])
        assert (await pending["x"]).name == "x"

    async def test_the_next_in_line_follows_a_lease_that_ended(self, world: World) -> None:
        """When a lease ends by itself the one who waits gets in, and not before."""
        alice, bob = world.party(), world.party()
        held = await alice.acquire("x", ttl=world.short, renew=False)
        lease = await bob.acquire("x")
        assert not held.held
        assert held.lost
        assert lease.token > held.token
        assert lease.held
