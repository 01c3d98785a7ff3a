"""At most N at once, each with a slot of its own, and what the dead had comes back."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from holdfast import LockBusy, Misuse
from holdfast.testing.suite.party import AnyLock, Party
from holdfast.testing.suite.world import World


def permit(party: Party, permits: int = 3, **terms: Any) -> Any:
    """Describe a semaphore on ``x``."""
    return party.client.semaphore("x", permits=permits, **terms)


class TestSemaphores:
    """A number of permits."""

    pytestmark = pytest.mark.anyio
    needs = "semaphore"

    async def test_slots_are_unique_and_used_again(self, world: World) -> None:
        """Each holder has another slot; the one that is given back is the next to be had."""
        parties = [world.party() for _ in range(4)]
        leases = [await one.take(permit(one)) for one in parties[:3]]
        assert [lease.slot for lease in leases] == [0, 1, 2]
        with pytest.raises(LockBusy):
            await parties[3].take(permit(parties[3], wait=0))
        await parties[1].release(leases[1])
        again = await parties[3].take(permit(parties[3]))
        assert (again.slot, again.slots) == (1, (1,))
        assert again.token > max(lease.token for lease in leases)
        assert [held.slots for held in (await world.look()).holders] == [(0,), (2,), (1,)]

    async def test_weights(self, world: World) -> None:
        """A weight takes so many slots at once, and nobody passes a heavy one that waits."""
        alice, bob, carol = world.party(), world.party(), world.party()
        light = await alice.take(permit(alice))
        heavy = await world.in_line(bob, at=permit(bob), weight=3)
        with pytest.raises(LockBusy):
            await carol.take(permit(carol, wait=0))
        behind = await world.in_line(carol, at=permit(carol), weight=2)
        await alice.release(light)
        lease = await heavy
        assert lease.slots == (0, 1, 2)
        assert not behind.done()
        await bob.release(lease)
        assert (await behind).slots == (0, 1)

    async def test_clients_that_disagree(self, world: World) -> None:
        """Another number of permits, or another kind, is refused in words while it is in use."""
        alice, bob = world.party(), world.party()
        lease = await alice.take(permit(alice))
        with pytest.raises(Misuse, match="in use with 3 permits, not 4"):
            await bob.take(permit(bob, 4))
        with pytest.raises(Misuse, match="in use as a semaphore, not as a lock"):
            await bob.acquire("x")
        await alice.release(lease)
        assert (await bob.take(permit(bob, 4), weight=4)).slots == (0, 1, 2, 3)

    async def test_what_can_never_be_had(self, world: World) -> None:
        """Numbers that make no sense are refused before anybody is asked."""
        alice = world.party()
        for permits in (0, -1, 1.5, True, 10_001):
            with pytest.raises(Misuse):
                permit(alice, permits)  # type: ignore[arg-type]  # that is the point
        for weight in (0, 4, 1.0):
            with pytest.raises(Misuse):
                await alice.take(permit(alice), weight=weight)
        assert not (await world.look()).held

    async def test_the_dead_give_back(self, world: World) -> None:
        """When holders stop renewing all of their permits are free again after their ttl."""
        alice, bob = world.party(), world.party()
        dying = permit(alice, ttl=world.short, renew=False)
        for _ in range(3):
            await alice.take(dying)
        lease = await bob.take(permit(bob), weight=3)
        assert lease.slots == (0, 1, 2)

    async def test_permits_have_no_owner(self, world: World) -> None:
        """One thread or task may take several, and another may give them back."""
        alice = world.party()
        helper = world.party(client=alice.client)
        semaphore = permit(alice, 2)
        first, second = await alice.take(semaphore), await alice.take(semaphore)
        pending = await world.in_line(alice, at=semaphore)
        await helper.release(first)
        assert (await pending).slot == 0
        assert second.slot == 1

    async def test_locked_means_full(self, world: World) -> None:
        """A semaphore is locked when all of its permits are held."""
        alice = world.party()
        semaphore = permit(alice, 2)
        assert (semaphore.name, semaphore.permits) == ("x", 2)
        assert await alice.do(semaphore.locked) is False
        await alice.take(semaphore)
        assert await alice.do(semaphore.locked) is False
        await alice.take(semaphore)
        assert await alice.do(semaphore.locked) is True

    async def test_never_more_than_permits(self, world: World) -> None:
        """In the bodies of many there are at most so many at once, no two of them in one slot."""
        inside: list[int | None] = []
        most: list[int] = []
        rounds = 5 if world.capabilities.wakeup == "push" else 2

        async def work(party: Party, semaphore: AnyLock) -> None:
            for _ in range(rounds):
                lease = await party.take(semaphore)
                await party.do(partial(_stay, inside, most, lease.slot))
                await party.release(lease)

        shared = world.client()
        parties = [world.party(), world.party(), world.party(client=shared)]
        parties += [world.party(client=shared), world.party(client=shared)]
        await asyncio.gather(*(work(one, permit(one, 2)) for one in parties))
        assert len(most) == 5 * rounds
        assert max(most) <= 2


def _stay(inside: list[int | None], most: list[int], slot: int | None) -> None:
    assert slot not in inside
    inside.append(slot)
    most.append(len(inside))
    time.sleep(0.001)
    inside.remove(slot)
