"""One holder at a time, and every later holder with a larger token."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from holdfast import LockBusy
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World


class TestExclusion:
    """Never two at once."""

    pytestmark = pytest.mark.anyio

    async def test_a_second_party_is_refused(self, world: World) -> None:
        """While one party holds a name nobody else gets it."""
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        assert await bob.try_acquire("x") is None
        with pytest.raises(LockBusy):
            await bob.acquire("x", wait=0)

    async def test_a_released_name_is_free(self, world: World) -> None:
        """What was given back can be had at once."""
        alice, bob = world.party(), world.party()
        await alice.release(await alice.acquire("x"))
        lease = await bob.try_acquire("x")
        assert lease is not None
        assert lease.held

    async def test_names_do_not_touch_each_other(self, world: World) -> None:
        """Two names can be held at once, also by one party."""
        alice, bob = world.party(), world.party()
        leases = [await alice.acquire("x"), await alice.acquire("y"), await bob.acquire("X")]
        assert all(lease.held for lease in leases)

    async def test_prefixes_are_spaces_of_their_own(self, world: World) -> None:
        """Clients with different prefixes neither exclude nor see each other."""
        alice, bob = world.party(), world.party(prefix=world.prefix + "2")
        held, other = await alice.acquire("x"), await bob.acquire("x", wait=0)
        assert held.held
        assert other.held
        assert [one.token for one in await alice.locks()] == [held.token]
        assert [one.token for one in await bob.locks()] == [other.token]
        await bob.release(other)
        assert held.held

    async def test_owners_in_one_client_exclude_each_other(self, world: World) -> None:
        """Two threads or tasks that share one client, even one lock object, are two parties."""
        alice = world.party()
        twin = world.party(client=alice.client)
        lock = alice.lock("x", wait=0)
        lease = await alice.take(lock)
        with pytest.raises(LockBusy):
            await twin.take(lock)
        await alice.release(lease)
        assert (await twin.take(lock)).held

    async def test_tokens_grow(self, world: World) -> None:
        """Each grant of a name has a larger token than all before it, whoever gets it."""
        parties = [world.party(), world.party()]
        tokens = []
        for turn in range(10):
            party = parties[turn % 2]
            lease = await party.acquire("x")
            tokens.append(lease.token)
            await party.release(lease)
        assert tokens == sorted(set(tokens))

    async def test_an_unprotected_counter_is_right(self, world: World) -> None:
        """Read, pause, write back: under the lock no increment is lost, and tokens follow order."""
        counter = {"value": 0}
        rounds = 10 if world.capabilities.wakeup == "push" else 2
        tokens: list[int] = []

        async def count(party: Party) -> None:
            for _ in range(rounds):
                lease = await party.acquire("counter")
                await party.do(partial(_increment, counter, tokens, lease.token))
                await party.release(lease)

        shared = world.client()
        parties = [world.party(), world.party(), world.party(client=shared)]
        parties.append(world.party(client=shared))
        await asyncio.gather(*map(count, parties))
        assert counter["value"] == 4 * rounds
        assert tokens == sorted(set(tokens))

    async def test_the_body_never_runs_without_the_lock(self, world: World) -> None:
        """When the wait ends in vain the body of the ``with`` is not entered."""
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        entered: list[str] = []
        body = world.native(lambda: entered.append("bob"))
        with pytest.raises(LockBusy):
            await bob.do(lambda: bob.client.with_lock("x", body, wait=0.05))
        with pytest.raises(LockBusy):
            await bob.enter("x", wait=0)
        assert entered == []

    async def test_the_lease_says_what_it_is(self, world: World) -> None:
        """A lease knows its name, holder, token, metadata, time of grant and remaining life."""
        alice = world.party("nightly job")
        before = time.time()
        lease = await alice.acquire("x", ttl=5, metadata={"job": 7})
        assert (lease.name, lease.metadata) == ("x", {"job": 7})
        assert lease.holder == alice.client.holder
        assert lease.holder.label == "nightly job"
        assert before - 1 < lease.acquired_at < time.time() + 1
        assert 0 < lease.remaining < 5
        assert lease.held
        assert not lease.lost
        assert (lease.slot, lease.slots) == (None, ())


def _increment(counter: dict[str, int], tokens: list[int], token: int) -> None:
    value = counter["value"]
    tokens.append(token)
    time.sleep(0.0005)
    counter["value"] = value + 1
