"""Singletons: one run at a time across all copies, and one completed run per slot."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from holdfast import LockBusy, LockLost, Misuse, Outcome
from holdfast.observe import events
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.work import Work
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

SKIPPED = Outcome[str](executed=False)
RAN = Outcome(executed=True, result="done")
LONG_SLOT = "365d"
"""A slot that no test outlives."""


def begin(party: Party, work: Work, **terms: Any) -> Any:
    """Begin ``work`` as the singleton ``job``."""
    singleton: Any = party.client.singleton("job", **terms)
    return party.begin(partial(singleton.run, work.call))


async def run(party: Party, work: Work, **terms: Any) -> Any:
    """Run ``work`` as the singleton ``job``."""
    return await begin(party, work, **terms)


class TestSingletons:
    """``run`` and the decorator."""

    pytestmark = pytest.mark.anyio

    async def test_one_at_a_time(self, world: World) -> None:
        """While one copy runs the others skip, which is an event and not an error."""
        told: list[Any] = []
        alice, bob = world.party("first"), world.party(observers=[told.append])
        work = Work(world, held=True)
        pending = begin(alice, work)
        await work.begun()
        assert await run(bob, work) == SKIPPED
        [skipped] = [event for event in told if isinstance(event, events.Skipped)]
        assert (skipped.name, skipped.why) == ("job", "busy")
        assert skipped.holders[0].holder.label == "first"
        work.finish()
        assert await pending == RAN
        assert await run(bob, work) == RAN
        assert work.runs == 2

    async def test_busy_can_be_an_error_or_a_wait(self, world: World) -> None:
        """``on_busy`` says what to do instead of skipping."""
        alice, bob = world.party(), world.party()
        work = Work(world, held=True)
        pending = begin(alice, work)
        await work.begun()
        with pytest.raises(LockBusy, match=r"singleton\('job'\) is busy"):
            await run(bob, work, on_busy="raise")
        with pytest.raises(LockBusy, match="after waiting"):
            await run(bob, work, on_busy="wait", wait=0.05)
        waiting = begin(bob, work, on_busy="wait")
        work.finish()
        assert (await pending, await waiting) == (RAN, RAN)

    async def test_bad_terms(self, world: World) -> None:
        """What can never be right is refused when the singleton is described."""
        client: Any = world.client()
        for terms in ({"on_busy": "panic"}, {"wait": 1}, {"on_busy": "raise", "wait": 1}):
            with pytest.raises(Misuse):
                client.singleton("job", **terms)


class TestSlots:
    """With ``per``: one completed run per slot of the backend's clock."""

    pytestmark = pytest.mark.anyio
    needs = "records"

    async def test_one_completed_run_per_slot(self, world: World) -> None:
        """A completed run closes its slot for all copies, also for those who waited for it."""
        told: list[Any] = []
        alice, bob = world.party(), world.party(observers=[told.append])
        work = Work(world, held=True)
        pending = begin(alice, work, per=LONG_SLOT)
        await work.begun()
        waiting = begin(bob, work, per=LONG_SLOT, on_busy="wait")
        await eventually_async(
            lambda: any(isinstance(one, events.Claimed) for one in told), 5.0, "bob in line"
        )
        work.finish()
        assert (await pending, await waiting) == (RAN, SKIPPED)
        assert await run(alice, work, per=LONG_SLOT) == SKIPPED
        assert [one.why for one in told if isinstance(one, events.Skipped)] == ["done"]
        assert work.runs == 1

    async def test_a_failed_run_leaves_its_slot_open(self, world: World) -> None:
        """What raises has not completed: the next copy runs in the same slot."""
        alice, bob = world.party(), world.party()
        failing, work = Work(world), Work(world)
        failing.error = ValueError("no disk")
        with pytest.raises(ValueError, match="no disk"):
            await run(alice, failing, per=LONG_SLOT)
        assert await run(bob, work, per=LONG_SLOT) == RAN
        assert await run(alice, failing, per=LONG_SLOT) == SKIPPED

    async def test_the_next_slot_is_open(self, world: World) -> None:
        """When the slot is over it runs again, once."""
        parties = [world.party(), world.party()]
        work = Work(world)
        began = time.monotonic()

        async def everybody() -> bool:
            for party in parties:
                await run(party, work, per=0.4)
            return work.runs >= 3

        await eventually_async(everybody, 5.0, "three slots")
        assert work.runs <= (time.monotonic() - began) / 0.4 + 2  # the first and the last in part

    async def test_a_run_that_was_overtaken_closes_nothing(self, world: World) -> None:
        """Who loses the lease during the run is told, and its slot is its successor's."""
        alice, bob = world.party(), world.party()
        first, second = Work(world, held=True), Work(world)
        pending = begin(alice, first, per=LONG_SLOT, on_loss="flag")
        await first.begun()
        client: Any = bob.client
        token = (await bob.do(lambda: client.show("job", space="singleton"))).holders[0].token
        await bob.do(lambda: client.break_lock("job", token=token, force=True, space="singleton"))
        second.error = ValueError("so that the slot stays open")
        with pytest.raises(ValueError, match="stays open"):
            await run(bob, second, per=LONG_SLOT)
        first.finish()
        with pytest.raises(LockLost):
            await pending
        second.error = None
        assert await run(bob, second, per=LONG_SLOT) == RAN

    async def test_a_decorated_function(self, world: World) -> None:
        """Each name that the arguments make is a singleton of its own."""
        alice = world.party()
        client: Any = alice.client

        def report(region: str) -> str:
            return region

        single = client.singleton("report:{region}", per=LONG_SLOT)(world.native(report))
        assert await alice.do(partial(single, "eu")) == Outcome(executed=True, result="eu")
        assert await alice.do(partial(single, region="us")) == Outcome(executed=True, result="us")
        assert await alice.do(partial(single, "eu")) == SKIPPED

    async def test_bad_periods(self, world: World) -> None:
        """A period that can never be right is refused when the singleton is described."""
        client: Any = world.client()
        for per in (0.05, "soon"):
            with pytest.raises(Misuse):
                client.singleton("job", per=per)
