"""Who holds, who waits, since when: the same answers on every backend, and no secrets."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import json
import time

import pytest

from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

ODD_NAMES = [
    " ",
    "%",
    "'; DROP TABLE names; --",
    "*?[a-z]",
    "\\",
    "a/b:c{d}",
    "ä",
    "名前",
    "\N{LOCK}",
    "\u2028",
    "\U0010ffff",
    "n" * 512,
]


class TestInspection:
    """``show``, ``locks``, ``locked`` and ``inspect``."""

    pytestmark = pytest.mark.anyio

    async def test_a_name_nobody_uses(self, world: World) -> None:
        """A free name has no holder, no queue and no end."""
        alice = world.party()
        seen = await alice.show("x")
        assert (seen.name, seen.held, seen.waiters, seen.holder) == ("x", False, 0, None)
        assert seen.expires_in is None
        assert await alice.locks() == []

    async def test_the_holder_is_shown(self, world: World) -> None:
        """``show`` names holder, token, metadata, since when and for how long."""
        alice, bob = world.party("the importer"), world.party()
        lease = await alice.acquire("x", ttl=20, metadata={"file": "a.csv", "rows": [1, 2]})
        seen = await bob.show("x")
        assert seen.held
        assert (seen.kind, seen.token, seen.holder) == ("lock", lease.token, alice.client.holder)
        [held] = seen.holders
        assert held.holder.label == "the importer"
        assert json.loads(held.metadata) == {"file": "a.csv", "rows": [1, 2]}
        assert abs(held.since - time.time()) < 5
        assert held.since == pytest.approx(lease.acquired_at)
        assert 10 < held.expires_in <= 20
        assert held.broken == ""

    async def test_the_queue_is_shown_in_order(self, world: World) -> None:
        """Waiters appear in the order in which they are served."""
        world.require("queue")
        alice = world.party()
        others = [world.party(f"number {number}") for number in range(3)]
        held = await alice.acquire("x")
        for other in others:
            await world.in_line(other)
        seen = await world.look()
        assert seen.waiters == 3
        assert [place.holder.label for place in seen.queue] == ["number 0", "number 1", "number 2"]
        assert all(abs(place.since - time.time()) < 5 for place in seen.queue)
        assert seen.token == held.token
        for party in (alice, *others):
            await party.close()

    async def test_listing(self, world: World) -> None:
        """``locks`` gives the names in use that start with a prefix, sorted, and no others."""
        alice, bob = world.party(), world.party()
        for name in ("b2", "a1", "b1", "c"):
            await alice.acquire(name)
        await alice.release(await alice.acquire("b3"))
        assert [one.name for one in await bob.locks()] == ["a1", "b1", "b2", "c"]
        assert [one.name for one in await bob.locks("b")] == ["b1", "b2"]
        assert await bob.locks("nothing") == []

    async def test_long_listings_are_complete(self, world: World) -> None:
        """More names than one question asks for are all listed."""
        alice, bob = world.party(), world.party()
        names = [f"n{number:04}" for number in range(1050)]
        lock_of = alice.client.lock
        for name in names:
            await alice.take(lock_of(name, ttl=60))
        assert [one.name for one in await bob.locks()] == names
        await alice.release_all()
        assert await bob.locks() == []

    async def test_a_lease_that_ended_is_not_shown(self, world: World) -> None:
        """What is over is not shown as held, though nobody has asked for the name since."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.short, renew=False)
        await alice.begin_wait_lost(lease, 10)

        async def gone() -> bool:
            return not (await bob.show("x")).held

        # The holder is told before the backend's time is up; a session lock ends by its keeper.
        await eventually_async(gone, 5.0, "the end that others see")
        assert await bob.locks() == []

    @pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
    async def test_any_text_is_a_name(self, world: World, name: str) -> None:
        """Names are never interpreted: each is held, shown and listed as it was written."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire(name)
        assert await bob.try_acquire(name) is None
        assert (await bob.show(name)).token == lease.token
        assert [one.name for one in await bob.locks()] == [name]
        assert [one.name for one in await bob.locks(name[:1])] == [name]

    async def test_a_lock_can_be_looked_at(self, world: World) -> None:
        """``locked`` and ``inspect`` ask about the lock's own name."""
        alice, bob = world.party(), world.party()
        lock = bob.lock("x")
        assert await bob.do(lock.locked) is False
        lease = await alice.acquire("x")
        assert await bob.do(lock.locked) is True
        assert (await bob.do(lock.inspect)).token == lease.token

    async def test_looking_changes_nothing(self, world: World) -> None:
        """Looking neither holds nor queues, nor wakes anybody."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x")
        first = await bob.show("x")
        second = await bob.show("x")
        assert (first.token, first.queue) == (second.token, second.queue)
        assert lease.held

    async def test_no_secret_is_shown(self, world: World) -> None:
        """A claim's id, with which one could release, is nowhere in what others may see."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", metadata={"a": 1})
        secret = lease._state.claim_id  # noqa: SLF001 - to see that it is seen nowhere
        [listed] = await bob.locks()
        everything = [repr(listed), json.dumps(listed.as_json()), repr(lease), repr(alice.client)]
        everything.append(repr(await bob.show("x")))
        assert [text for text in everything if secret in text] == []
