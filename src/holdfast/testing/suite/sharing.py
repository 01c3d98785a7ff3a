"""Many readers or one writer, and nobody waits for ever."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import LockBusy, Misuse
from holdfast.testing.suite.party import AnyLock, Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


def reading(party: Party, **terms: Any) -> AnyLock:
    """Describe the readers' side of ``x``."""
    return party.client.rwlock("x").read(**terms)


def writing(party: Party, **terms: Any) -> AnyLock:
    """Describe the writer's side of ``x``."""
    return party.client.rwlock("x").write(**terms)


class TestReadersAndWriter:
    """A readers/writer lock."""

    pytestmark = pytest.mark.anyio
    needs = "rwlock"

    async def test_readers_share_and_a_writer_does_not(self, world: World) -> None:
        """Any number of readers may be in at once; a writer only when nobody else is."""
        alice, bob, carol = world.party(), world.party(), world.party()
        readers = [await alice.take(reading(alice)), await bob.take(reading(bob))]
        assert readers[0].token < readers[1].token
        with pytest.raises(LockBusy) as busy:
            await carol.take(writing(carol, wait=0))
        assert {held.holder for held in busy.value.holders} == {
            alice.client.holder,
            bob.client.holder,
        }
        for reader, lease in zip((alice, bob), readers, strict=True):
            await reader.release(lease)
        lease = await carol.take(writing(carol, wait=0))
        for side in (reading, writing):
            with pytest.raises(LockBusy):
                await alice.take(side(alice, wait=0))
        assert lease.token > readers[1].token
        assert (lease.slot, lease.slots) == (None, ())

    async def test_a_waiting_writer_is_not_starved(self, world: World) -> None:
        """Readers that come after a waiting writer wait behind it, however few are inside."""
        alice, bob, carol = world.party(), world.party(), world.party()
        first = await alice.take(reading(alice))
        writer = await world.in_line(bob, at=writing(bob))
        with pytest.raises(LockBusy):
            await carol.take(reading(carol, wait=0))
        reader = await world.in_line(carol, at=reading(carol))
        await alice.release(first)
        written = await writer
        assert not reader.done()
        await bob.release(written)
        assert (await reader).token > written.token

    async def test_readers_in_line_go_in_together(self, world: World) -> None:
        """A writer that leaves lets in all readers up to the next writer, and not beyond it."""
        alice, writer = world.party(), world.party()
        readers = [world.party(), world.party(), world.party()]
        held = await alice.take(writing(alice))
        waiting = [await world.in_line(one, at=reading(one)) for one in readers[:2]]
        writers = await world.in_line(writer, at=writing(writer))
        last = await world.in_line(readers[2], at=reading(readers[2]))
        await alice.release(held)
        leases = await asyncio.gather(*(one.future for one in waiting))
        assert not writers.done()
        for reader, lease in zip(readers, leases, strict=False):
            await reader.release(lease)
        written = await writers
        assert not last.done()
        await writer.release(written)
        assert (await last).held

    async def test_a_reader_cannot_become_a_writer(self, world: World) -> None:
        """To write inside one's own read is refused at once, in words that say what to do."""
        alice = world.party()
        lease = await alice.take(reading(alice, reentrant=True))
        for reentrant in (False, True):
            with pytest.raises(Misuse, match=r"Leave read\(\) first"):
                await alice.take(writing(alice, reentrant=reentrant))
        with pytest.raises(LockBusy):
            await alice.take(writing(alice, wait=0))
        assert lease.held
        assert (await world.look()).waiters == 0

    async def test_the_same_owner_again(self, world: World) -> None:
        """A second read or write of one owner is refused, or with ``wait=0`` simply busy."""
        alice = world.party()
        for side in (reading, writing):
            lease = await alice.take(side(alice))
            with pytest.raises(Misuse, match="reentrant=True"):
                await alice.take(side(alice))
            with pytest.raises(LockBusy):
                await alice.take(side(alice, wait=0))
            await alice.release(lease)

    async def test_reentrant_sides(self, world: World) -> None:
        """Read in read, write in write and read in write are one lease; the outermost counts."""
        alice, bob = world.party(), world.party()
        for outer, inner in ((reading, reading), (writing, writing), (writing, reading)):
            first = await alice.take(outer(alice, reentrant=True))
            assert await alice.take(inner(alice, reentrant=True)) is first
            await alice.release(first)
            with pytest.raises(LockBusy):
                await bob.take(writing(bob, wait=0))
            await alice.release(first)
            await bob.release(await bob.take(writing(bob, wait=0)))

    async def test_a_reader_that_ends_lets_the_writer_in(self, world: World) -> None:
        """A reader that stops renewing holds a writer up for its ttl, and no longer."""
        alice, bob = world.party(), world.party()
        dead = await alice.take(reading(alice, ttl=world.brief, renew=False))
        pending = await world.in_line(bob, at=writing(bob))
        lease = await pending
        assert lease.held
        await eventually_async(lambda: dead.lost, 8.0, "the end of the reader's lease")

    async def test_one_name_is_one_kind(self, world: World) -> None:
        """While a name is in use as one kind, asking for it as another is a clear error."""
        alice, bob = world.party(), world.party()
        lease = await alice.take(reading(alice))
        with pytest.raises(Misuse, match="in use as a rwlock, not as a lock"):
            await bob.acquire("x")
        await alice.release(lease)
        assert (await bob.acquire("x", wait=0)).held
