"""Several names at once: all or nothing, no crosswise waiting, and the loss of one is of all."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from holdfast import LockBusy, LockLost, Misuse
from holdfast.testing.suite.cranks import Interrupted, Pending
from holdfast.testing.suite.interruption import STRUCK_ELSEWHERE
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


def all_of(party: Party, *names: str, **terms: Any) -> Any:
    """Describe a lock on several names."""
    return party.client.lock_all(names, **terms)


async def waiting_for(world: World, name: str, pending: Pending[Any]) -> Pending[Any]:
    """Come back when somebody waits for ``name``."""

    async def one_waits() -> bool:
        return (await world.look(name)).waiters == 1

    await eventually_async(one_waits, 5.0, f"a waiter for {name}")
    return pending


class TestManyNames:
    """``lock_all``."""

    pytestmark = pytest.mark.anyio

    async def test_all_or_nothing(self, world: World) -> None:
        """While one of the names is held elsewhere none is taken; then all of them are."""
        alice, bob = world.party(), world.party()
        held = await bob.acquire("b")
        with pytest.raises(LockBusy) as busy:
            await alice.take(all_of(alice, "c", "a", "b", wait=0))
        assert (busy.value.name, busy.value.holders[0].holder) == ("b", bob.client.holder)
        assert [one.name for one in await bob.locks()] == ["b"]
        await bob.release(held)
        leases: Any = await alice.take(all_of(alice, "c", "a", "b", "a", wait=0, metadata={"n": 1}))
        assert leases.names == ("c", "a", "b")
        assert leases.held
        seen = {one.name: one.token for one in await bob.locks()}
        assert seen == leases.tokens
        assert leases.tokens["b"] > held.token
        assert leases.leases["a"].metadata == {"n": 1}
        with pytest.raises(LockBusy):
            await bob.acquire("a", wait=0)
        await alice.release(leases)
        assert (leases.held, leases.lost) == (False, False)
        assert await bob.locks() == []

    async def test_those_that_are_busy_are_waited_for(self, world: World) -> None:
        """The names are waited for in the order of their bytes, holding the earlier ones."""
        alice, bob = world.party(), world.party()
        held = await bob.acquire("b")
        pending = alice.begin_take(all_of(alice, "c", "b", "a", ttl=2))
        await waiting_for(world, "b", pending)
        assert (await world.look("a")).holder == alice.client.holder
        assert not (await world.look("c")).held
        await world.pass_time(1.2)  # what is held meanwhile is not taken for forgotten
        assert (await world.look("a")).holder == alice.client.holder
        await bob.release(held)
        leases: Any = await pending
        assert leases.held
        assert sorted(leases.tokens) == ["a", "b", "c"]

    async def test_opposite_orders_never_deadlock(self, world: World) -> None:
        """Whoever names the same names in another order waits its turn, and gets it."""
        inside: list[str] = []
        done: list[str] = []
        rounds = 5 if world.capabilities.wakeup == "push" else 2

        async def work(party: Party, *names: str) -> None:
            for _ in range(rounds):
                leases: Any = await party.take(all_of(party, *names))
                await party.do(partial(_alone, inside, done, party.name))
                await party.release(leases)

        parties = [world.party(), world.party(), world.party()]
        orders = [("x", "y", "z"), ("z", "y", "x"), ("y", "x")]
        await asyncio.gather(
            *(work(party, *names) for party, names in zip(parties, orders, strict=True))
        )
        assert len(done) == 3 * rounds

    async def test_losing_one_loses_all(self, world: World) -> None:
        """When one is broken all are lost: the body is told once, the others are given back."""
        alice, bob = world.party(), world.party()
        told: list[str] = []
        stay = await alice.enter_all(all_of(alice, "a", "b", "c", ttl=5))
        leases: Any = stay.lease
        leases.on_lost(lambda: told.append("lost"))
        await bob.break_lock("b", leases.tokens["b"], reason="of the test")
        await eventually_async(lambda: leases.lost, 8.0, "the loss")
        with pytest.raises(LockLost, match=r"'b'.*of the test"):
            leases.check()
        await eventually_async(lambda: told, 8.0, "the word of it")
        for name in ("a", "c"):
            assert (await bob.acquire(name, wait=2)).held
        with pytest.raises(LockLost, match=r"'b'.*of the test"):
            await (stay.leave() if world.mode == "sync" else stay.ended())
        assert told == ["lost"]
        assert not leases.leases["a"].held

    async def test_nothing_is_left_of_an_interrupted_wait(self, world: World) -> None:
        """Interrupted while it waits for one, it gives back those it holds and leaves the line."""
        world.only("async", STRUCK_ELSEWHERE)
        alice, bob = world.party(), world.party()
        held = await bob.acquire("b")
        pending = await waiting_for(world, "b", alice.begin_take(all_of(alice, "a", "b")))
        pending.interrupt()
        with pytest.raises(Interrupted):
            await pending
        assert (await bob.acquire("a", wait=2)).held
        assert held.held

        async def nobody_waits() -> bool:
            return (await world.look("b")).waiters == 0

        await eventually_async(nobody_waits, 8.0, "an empty line")

    async def test_a_wait_in_vain_leaves_nothing(self, world: World) -> None:
        """When ``wait`` is over it is busy, and says which and for how long; nothing is held."""
        alice, bob = world.party(), world.party()
        await bob.acquire("b")
        with pytest.raises(LockBusy, match="'b' is busy") as busy:
            await alice.take(all_of(alice, "a", "b", wait=0.2))
        assert 0.2 <= busy.value.waited_for < 5
        assert [one.name for one in await bob.locks()] == ["b"]

    async def test_one_owner(self, world: World) -> None:
        """Whoever holds one of the names itself is told so at once instead of waiting for ever."""
        alice = world.party()
        await alice.acquire("b")
        with pytest.raises(Misuse, match="this very thread or task"):
            await alice.take(all_of(alice, "a", "b"))
        with pytest.raises(LockBusy):
            await alice.take(all_of(alice, "a", "b", wait=0))
        assert not (await world.look("a")).held

    async def test_a_set_is_extended_as_one(self, world: World) -> None:
        """``extend`` is for all of them, and ``remaining`` counts to the first deadline."""
        alice = world.party()
        leases: Any = await alice.take(all_of(alice, "a", "b", ttl=2))
        assert 0 < leases.remaining < 2
        await alice.extend(leases, 30)
        assert 20 < leases.remaining < 30
        leases.check(at_least=20)
        assert await alice.begin_wait_lost(leases, 0.01) is False

    async def test_what_cannot_be_locked(self, world: World) -> None:
        """No name, one name as a text, or too many are refused before anybody is asked."""
        alice = world.party()
        for names in ([], "ab", None, 5, ["a", ""], [f"n{i}" for i in range(101)]):
            with pytest.raises(Misuse):
                alice.client.lock_all(names)  # type: ignore[arg-type]  # that is the point


def _alone(inside: list[str], done: list[str], who: str) -> None:
    assert inside == [], f"{who} met {inside}"
    inside.append(who)
    time.sleep(0.001)
    inside.remove(who)
    done.append(who)
