"""Buckets, asked on the wire: so many permits per period, at most a burst of them at once."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import Unsupported
from holdfast.rules.bucket_messages import GaveBack, GiveBack, Short, Take, Terms, Took
from holdfast.rules.messages import Refused
from holdfast.testing.suite.inspection import ODD_NAMES
from holdfast.testing.suite.wires import fresh_id
from holdfast.testing.suite.world import World

SECOND, HOUR = 1_000_000, 3_600_000_000
SLOW = Terms(10, HOUR, 10)
"""A rate at which nothing comes back while a test runs."""


def _take(permits: int = 1, wait: int = 0, terms: Terms = SLOW) -> Take:
    return Take("limiter", "x", fresh_id(), permits, terms, wait)


class TestBuckets:
    """``Take`` and ``GiveBack``."""

    pytestmark = pytest.mark.anyio

    async def test_a_backend_has_them_or_says_that_it_has_not(self, world: World) -> None:
        """What ``capabilities`` does not promise is refused as unsupported, not in some odd way."""
        asker = world.asker()
        if world.capabilities.buckets:
            await asker.expect(Took, _take())
            return
        with pytest.raises(Unsupported):
            await asker.ask(_take())

    async def test_a_burst_is_there_at_once_and_no_more(self, world: World) -> None:
        """Ten at once; then it says when the next will be there."""
        asker = world.asker("buckets")
        left = [(await asker.expect(Took, _take(2))).remaining for _ in range(5)]
        assert left == [8, 6, 4, 2, 0]
        short = await asker.expect(Short, _take())
        assert short.remaining == 0
        assert 0 < short.retry_in <= HOUR // 10

    async def test_permits_come_back_at_the_rate(self, world: World) -> None:
        """Whoever comes when he was told to gets in."""
        asker, terms = world.asker("buckets"), Terms(10, SECOND, 2)
        await asker.expect(Took, _take(2, terms=terms))
        short = await asker.expect(Short, _take(terms=terms))
        assert 0 < short.retry_in <= SECOND // 10
        await world.pass_time(short.retry_in / 1e6)
        assert (await asker.expect(Took, _take(terms=terms))).ready_in == 0

    async def test_it_is_exact_under_contention(self, world: World) -> None:
        """However many ask at the same moment, through however many clients, ten get in."""
        askers = [world.asker("buckets") for _ in range(4)]
        askers.append(world.asker("buckets", mode=world.other_mode))
        replies = await asyncio.gather(*(askers[turn % 5].ask(_take()) for turn in range(40)))
        taken = [reply for reply in replies if isinstance(reply, Took)]
        assert sorted(reply.remaining for reply in taken) == list(range(10))
        assert all(isinstance(reply, (Took, Short)) for reply in replies)

    async def test_those_who_wait_stand_in_line(self, world: World) -> None:
        """Each later than the one before; who does not wait, or not for so long, gets nothing."""
        asker = world.asker("buckets")
        await asker.expect(Took, _take(10))
        waits = [(await asker.expect(Took, _take(wait=HOUR))).ready_in for _ in range(3)]
        gaps = [waits[0], waits[1] - waits[0], waits[2] - waits[1]]
        assert all(0.9 * HOUR / 10 < gap <= HOUR / 10 for gap in gaps)
        short = await asker.expect(Short, _take())
        assert waits[2] < short.retry_in <= 4 * HOUR // 10
        await asker.expect(Short, _take(wait=waits[2]))

    async def test_a_take_asked_again_is_not_taken_twice(self, world: World) -> None:
        """It keeps its place, by whatever way it is asked for."""
        alice, bob = world.asker("buckets"), world.asker("buckets", mode=world.other_mode)
        mine = _take(8)
        assert (await alice.expect(Took, mine)).remaining == 2
        assert (await alice.expect(Took, mine)).remaining == 2
        assert (await bob.expect(Took, mine)).remaining == 2
        waits = _take(3, wait=HOUR)
        first = await alice.expect(Took, waits)
        again = await bob.expect(Took, waits)
        assert 0 < again.ready_in <= first.ready_in

    async def test_the_last_take_can_be_given_back(self, world: World) -> None:
        """As if it had never been; one that others came after stays."""
        asker = world.asker("buckets")
        first, second = _take(9), _take(1)
        await asker.expect(Took, first)
        await asker.expect(Took, second)
        kept = await asker.expect(GaveBack, GiveBack("limiter", "x", first.take_id))
        assert kept.how == "kept"
        undone = await asker.expect(GaveBack, GiveBack("limiter", "x", second.take_id))
        assert undone.how == "undone"
        again = await asker.expect(GaveBack, GiveBack("limiter", "x", second.take_id))
        assert again.how == "unknown"
        assert (await asker.expect(Took, _take(1))).remaining == 0

    async def test_everything_given_back_is_as_nothing_taken(self, world: World) -> None:
        """An empty bucket has no terms of its own."""
        asker = world.asker("buckets")
        take = _take(10)
        await asker.expect(Took, take)
        await asker.expect(GaveBack, GiveBack("limiter", "x", take.take_id))
        other = Terms(1, HOUR, 3)
        assert (await asker.expect(Took, _take(1, terms=other))).remaining == 2

    async def test_other_terms_are_refused_while_it_is_in_use(self, world: World) -> None:
        """In words that say which are in force; they can be adopted on purpose."""
        asker, other = world.asker("buckets"), Terms(20, HOUR, 20)
        await asker.expect(Took, _take(4))
        refused = await asker.expect(Refused, _take(terms=other))
        assert refused.why == "terms"
        assert "10 permits per 3600 s and a burst of 10" in refused.detail
        adopted = await asker.expect(Took, _take(terms=other)._replace(adopt=True))
        assert adopted.remaining == 15
        assert (await asker.expect(Refused, _take())).why == "terms"

    async def test_what_can_never_be_had_is_refused(self, world: World) -> None:
        """More than the burst at once, however long one waits, and terms that make no sense."""
        asker = world.asker("buckets")
        assert (await asker.expect(Refused, _take(11, wait=HOUR))).why == "permits"
        assert (await asker.expect(Refused, _take(0))).why == "permits"
        assert (await asker.expect(Refused, _take(terms=Terms(0, SECOND, 1)))).why == "terms"
        assert (await asker.expect(Took, _take(10))).remaining == 0

    @pytest.mark.parametrize("name", ODD_NAMES)
    async def test_each_name_has_a_bucket_of_its_own(self, world: World, name: str) -> None:
        """Under each prefix, too."""
        asker = world.asker("buckets")
        other = world.asker("buckets", prefix=world.prefix + "-b")
        take = _take(10)._replace(name=name)
        await asker.expect(Took, take)
        await asker.expect(Short, _take()._replace(name=name))
        await asker.expect(Took, _take()._replace(name=name + "x"))
        await other.expect(Took, take._replace(take_id=fresh_id()))

    async def test_a_batch_is_carried_out_in_its_order(self, world: World) -> None:
        """What is asked together is taken one after the other, once a server knows the scripts."""
        asker = world.asker("buckets")
        taught = _take()
        await asker.expect(Took, taught)
        await asker.expect(GaveBack, GiveBack("limiter", "x", taught.take_id))
        takes = [_take(4), _take(4), _take(4), _take(2)]
        last = GiveBack("limiter", "x", takes[3].take_id)
        replies = await asker.ask_all([*takes, last, _take(2)])
        kinds = [type(reply) for reply in replies]
        assert kinds == [Took, Took, Short, Took, GaveBack, Took]
