"""One leads, the others stand by, and observers see it change."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

from typing import Any

import pytest

from holdfast import LockBusy, Misuse, Tenure
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

OVER = "the iteration has ended"


def lead(party: Party, **terms: Any) -> Any:
    """Describe the lead of ``x``."""
    return party.client.lead("x", **terms)


class Follower:
    """A party that follows who leads ``x``; ``seen`` is what it was told, by holders and tokens."""

    def __init__(self, world: World, **terms: Any) -> None:
        self.party = world.party("follower")
        self.watch: Any = self.party.client.watch_leader("x", **terms)
        self._next = next if world.mode == "sync" else anext

    async def sees(self) -> Tenure | str | None:
        """Give the next change; the end is told as a text."""
        found: Tenure | str | None = await self.party.do(lambda: self._next(self.watch, OVER))
        return found

    async def sees_none(self) -> None:
        """See that nobody leads."""
        assert await self.sees() is None

    async def sees_lead(self, lease: Any) -> None:
        """See the tenure of this lease."""
        found = await self.sees()
        assert isinstance(found, Tenure)
        assert (found.token, found.holder) == (lease.token, lease.holder)


class TestElection:
    """``lead``, ``leader`` and ``watch_leader``."""

    pytestmark = pytest.mark.anyio
    needs = "lead"

    async def test_a_resignation_is_taken_over_at_once(self, world: World) -> None:
        """One leads; when it resigns the first of those who stand by does, with a larger token."""
        alice, bob, carol = world.party("a"), world.party("b"), world.party("c")
        assert await carol.do(lambda: carol.client.leader("x")) is None
        first = await alice.take(lead(alice, metadata={"zone": 1}))
        found = await carol.do(lambda: carol.client.leader("x"))
        assert (found.holder.label, found.token) == ("a", first.token)
        assert found.metadata == '{"zone":1}'
        pending = await world.in_line(bob, at=lead(bob))
        with pytest.raises(LockBusy):
            await carol.take(lead(carol, wait=0))
        await alice.release(first)
        second = await pending
        assert second.token > first.token
        found = await carol.do(lambda: carol.client.leader("x"))
        assert found.holder.label == "b"

    async def test_a_leader_that_stops_is_followed_within_its_ttl(self, world: World) -> None:
        """Who does not renew leads no longer than its ttl, and the next one does by itself."""
        alice, bob = world.party(), world.party()
        stopped = await alice.take(lead(alice, ttl=world.brief, renew=False))
        lease = await (await world.in_line(bob, at=lead(bob)))
        assert lease.held
        await eventually_async(lambda: stopped.lost, 8.0, "the end of the first")
        assert (await bob.do(lambda: bob.client.leader("x"))).token == lease.token

    async def test_an_election_has_names_of_its_own_kind(self, world: World) -> None:
        """A name that is held as a lock is led by nobody, and every way to ask says so."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x")
        with pytest.raises(Misuse, match="in use as a lock, not as a lead"):
            await bob.take(lead(bob))
        with pytest.raises(Misuse, match="in use as a lock"):
            await bob.do(lambda: bob.client.leader("x"))
        with pytest.raises(Misuse, match="in use as a lock"):
            await Follower(world).sees()
        await alice.release(lease)
        await alice.take(lead(alice))
        with pytest.raises(Misuse, match="in use as a lead, not as a lock"):
            await bob.acquire("x")

    async def test_changes_are_followed_in_order(self, world: World) -> None:
        """An observer is told at once how it is, and then of each change, none of them twice."""
        alice, bob = world.party(), world.party()
        follower = Follower(world)
        await follower.sees_none()
        first = await alice.take(lead(alice))
        await follower.sees_lead(first)
        pending = await world.in_line(bob, at=lead(bob))
        await alice.release(first)
        second = await pending
        await follower.sees_lead(second)
        await bob.release(second)
        await follower.sees_none()
        again = await bob.take(lead(bob))
        await follower.sees_lead(again)

    async def test_the_end_of_a_wait_ends_the_watch(self, world: World) -> None:
        """With ``wait`` the iteration ends when nothing has changed for so long."""
        alice = world.party()
        follower = Follower(world, wait=0.2)
        lease = await alice.take(lead(alice))
        await follower.sees_lead(lease)
        assert await follower.sees() == OVER

    async def test_a_watch_is_closed_while_it_waits(self, world: World) -> None:
        """Closing it ends the iteration of whoever waits for the next change."""
        follower = Follower(world)
        await follower.sees_none()
        pending = follower.party.begin(lambda: follower._next(follower.watch, OVER))  # noqa: SLF001
        await world.pass_time(0.05)
        follower.watch.close()
        assert await pending == OVER
        assert await follower.sees() == OVER

    async def test_an_outage_is_ridden_over(self, world: World) -> None:
        """While the backend is silent nothing is told; afterwards the change is, and once."""
        alice = world.party(ttl=20)
        follower = Follower(world)
        first = await alice.take(lead(alice))
        await follower.sees_lead(first)
        pending = follower.party.begin(lambda: follower._next(follower.watch, OVER))  # noqa: SLF001
        with world.unreachable():
            await world.pass_time(1.5)
            assert not pending.done()
        await alice.release(first)
        assert await pending is None
