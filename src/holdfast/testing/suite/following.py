"""Where leaders keep a journal, observers are told of every one of them, in order and once."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

from itertools import pairwise

import pytest

from holdfast import Tenure
from holdfast.testing.suite.election import OVER, Follower, lead
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World

QUIET = 0.3
"""After so long without a change these followers stop: much less than the second between looks."""


async def terms_of(*parties: Party, times: int) -> list[int]:
    """Let each of these lead for a moment, in turn; give the tokens."""
    tokens = []
    for number in range(times):
        party = parties[number % len(parties)]
        lease = await party.take(lead(party))
        tokens.append(lease.token)
        await party.release(lease)
    return tokens


async def told(follower: Follower) -> list[int]:
    """Give all that a follower is told until it stops: tokens, and 0 where nobody leads."""
    seen: list[int] = []
    while (found := await follower.sees()) != OVER:
        seen.append(found.token if isinstance(found, Tenure) else 0)
    return seen


def leaders(seen: list[int]) -> list[int]:
    """Give the leaders of what was told, once it is clear that each change was one."""
    assert all(one != two for one, two in pairwise(seen))
    return [token for token in seen if token]


class TestFollowing:
    """``watch_leader`` on a backend with records."""

    pytestmark = pytest.mark.anyio
    needs = "records"

    async def test_tenures_shorter_than_a_look_are_told(self, world: World) -> None:
        """Twenty that come and go between two looks are told one by one."""
        follower = Follower(world, wait=QUIET)
        await follower.sees_none()
        tokens = await terms_of(world.party("a"), world.party("b"), times=20)
        seen = await told(follower)
        assert leaders(seen) == tokens
        assert seen[-1] == 0

    async def test_a_hand_over_is_no_pause(self, world: World) -> None:
        """Where the next one stood by nobody is told in between; each with its own words."""
        alice, bob, carol = world.party("a"), world.party("b"), world.party("c")
        follower = Follower(world, wait=QUIET)
        await follower.sees_none()
        lease = await alice.take(lead(alice, metadata={"zone": 1}))
        second = await world.in_line(bob, at=lead(bob, metadata={"zone": 2}))
        third = await world.in_line(carol, at=lead(carol, metadata={"zone": 3}))
        await alice.release(lease)
        await bob.release(await second)
        await carol.release(await third)
        found = [await follower.sees() for _ in range(3)]
        assert [isinstance(one, Tenure) and (one.holder.label, one.metadata) for one in found] == [
            ("a", '{"zone":1}'), ("b", '{"zone":2}'), ("c", '{"zone":3}'),
        ]  # fmt: skip
        assert await told(follower) == [0]

    async def test_who_starts_in_the_middle_is_told_of_the_rest(self, world: World) -> None:
        """The first is the leader of now, and nothing that was before it is told."""
        alice, bob = world.party("a"), world.party("b")
        await terms_of(alice, bob, times=2)
        lease = await alice.take(lead(alice))
        follower = Follower(world, wait=QUIET)
        await follower.sees_lead(lease)
        await alice.release(lease)
        tokens = await terms_of(bob, alice, times=3)
        assert leaders(await told(follower)) == tokens

    async def test_what_came_around_an_outage_is_told_after_it(self, world: World) -> None:
        """Those that led before it and right after it are told, although nobody could look."""
        alice = world.party("a")
        follower = Follower(world, wait=10)
        await follower.sees_none()
        tokens = await terms_of(alice, times=2)
        pending = follower.party.begin(lambda: follower._next(follower.watch, OVER))  # noqa: SLF001
        with world.unreachable():
            await world.pass_time(1.2)
        tokens += await terms_of(alice, times=2)
        first = await pending
        seen = [first.token if isinstance(first, Tenure) else 0]
        while tokens[-1] not in seen:
            found = await follower.sees()
            seen.append(found.token if isinstance(found, Tenure) else 0)
        assert leaders(seen) == tokens
