"""What is forgotten is given back: leases and clients that are garbage-collected."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


class TestCollection:
    """Nobody refers to it any more."""

    pytestmark = pytest.mark.anyio

    async def test_a_dropped_lease_warns_and_ends(self, world: World) -> None:
        """A lease that is dropped without a release ends soon, with a ``ResourceWarning``."""
        alice = world.party()
        with pytest.warns(ResourceWarning, match="'x' was dropped without being released"):
            await drop(alice, "x")
        await eventually_async(lambda: _free(world), 8.0, "a free name")
        assert (await alice.acquire("x")).held

    async def test_a_dropped_lease_is_handed_over(self, world: World) -> None:
        """Whoever waits for the name of a dropped lease gets it."""
        alice, bob = world.party(), world.party()
        leases: list[Any] = [await alice.acquire("x", ttl=60)]
        pending = await world.in_line(bob)
        alice.kept.clear()
        await alice.rest()
        with pytest.warns(ResourceWarning):
            leases.clear()
        assert (await pending).held

    async def test_a_released_lease_is_dropped_in_silence(self, world: World) -> None:
        """What was released or lost is collected without a word."""
        alice = world.party()
        await alice.release(await alice.acquire("x"))
        lost = await alice.acquire("y", ttl=world.short, renew=False)
        told: list[str] = []
        lost.on_lost(lambda: told.append("lost"))
        await eventually_async(lambda: told, 5.0, "the loss")
        del lost
        alice.kept.clear()
        gc.collect()

    async def test_a_lease_keeps_its_client(self, world: World) -> None:
        """A client that only its lease refers to goes on renewing it."""
        with quick_collections():  # a long one would keep the keeper from its renewals
            leases = [await _lone_lease(world)]
            gc.collect()
        await world.until_renewed(*leases)
        assert leases[0].held
        released = leases[0].release()
        if inspect.isawaitable(released):
            await released

    async def test_a_dropped_client_leaves_nothing(self, world: World) -> None:
        """A client that is collected ends its threads; the world sees that none are left."""
        with quick_collections():
            await _lone_look(world)
            gc.collect()


@contextmanager
def quick_collections() -> Iterator[None]:
    """Leave all that a test process has gathered so far out of the collections inside the block."""
    frozen_before = gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen_before:  # otherwise somebody wants it to stay so
            gc.unfreeze()


async def drop(party: Party, name: str) -> None:
    """Let ``party`` acquire ``name`` and forget the lease."""

    async def in_task() -> None:
        lock: Any = party.lock(name)
        await lock.acquire()
        gc.collect()

    def in_thread() -> None:
        lock: Any = party.lock(name)
        lock.acquire()
        gc.collect()

    is_async = inspect.iscoroutinefunction(party.client.close)
    await party.do(in_task if is_async else in_thread)


async def _free(world: World) -> bool:
    return not (await world.look()).held


async def _lone_lease(world: World) -> Any:
    client: Any = world.unkept_client()
    acquired = client.lock("x", ttl=world.steady).acquire()
    return await acquired if inspect.isawaitable(acquired) else acquired


async def _lone_look(world: World) -> None:
    client: Any = world.unkept_client()
    shown = client.show("x")
    if inspect.isawaitable(shown):
        await shown
