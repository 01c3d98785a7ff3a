"""Limiters: a rate that everybody shares, exact under contention, first come, first served."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from holdfast import Misuse, RateLimited
from holdfast.testing.suite.cranks import Interrupted
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

SLOW = "10/h"
"""A rate at which nothing comes back while a test runs."""

BAD_TERMS: list[Any] = [
    ("", None),
    ("10", None),
    ("ten/s", None),
    ("0/s", None),
    ("-1/s", None),
    ("0.5/s", None),
    ("10/", None),
    ("10/fortnight", None),
    ("10/0s", None),
    (10, None),
    ("10/s", 0),
    ("10/s", 1.5),
    ("10/s", True),
    ("999983/30d", None),
]


def limiter(party: Party, rate: str = SLOW, burst: int | None = None, **terms: Any) -> Any:
    """Describe a limiter of this party's client."""
    return party.client.limiter("x", rate, burst, **terms)


class TestLimits:
    """``acquire`` and ``try_acquire``."""

    pytestmark = pytest.mark.anyio
    needs = "buckets"

    async def test_a_burst_and_no_more(self, world: World) -> None:
        """However many ask at once, ten get in; the others are told when to come again."""
        parties = [world.party() for _ in range(4)]
        asked = [party.do(limiter(party).try_acquire) for party in parties for _ in range(5)]
        permits = await asyncio.gather(*asked)
        assert sum(map(bool, permits)) == 10
        refused = next(permit for permit in permits if not permit)
        assert refused.allowed is False
        assert 0 < refused.retry_after <= 360
        assert refused.remaining == 0

    async def test_several_at_once(self, world: World) -> None:
        """``n`` permits are taken together or not at all."""
        alice = world.party()
        limit = limiter(alice)
        assert (await alice.do(partial(limit.try_acquire, 7))).remaining == 3
        assert not await alice.do(partial(limit.try_acquire, 4))
        assert (await alice.do(partial(limit.acquire, 3))).remaining == 0

    async def test_who_would_wait_too_long_is_told_at_once(self, world: World) -> None:
        """Beyond ``wait`` there is ``RateLimited``, and nothing was reserved for it."""
        alice, bob = world.party(), world.party()
        await alice.do(partial(limiter(alice).acquire, 10))
        for wait in (0, "1s"):
            with pytest.raises(RateLimited, match="'x' is over its limit") as refused:
                await bob.do(partial(limiter(bob).acquire, wait=wait))
            assert 300 < refused.value.retry_after <= 360
            assert refused.value.name == "x"

    async def test_waiting_is_in_order(self, world: World) -> None:
        """Each waits for its own moment, in the order of asking."""
        parties = [world.party(str(number)) for number in range(4)]
        looking = world.party("looker")
        looker = limiter(looking, "2/s", 1)
        started_at = time.monotonic()
        assert (await looking.do(looker.try_acquire)).allowed  # from now on it is refused, and sees
        got_at: dict[int, float] = {}
        for taken, party in enumerate(parties, 1):  # one after the other, so that there is an order
            limit = limiter(party, "2/s", 1)

            async def wait(party: Party = party, limit: Any = limit, taken: int = taken) -> None:
                await party.do(limit.acquire)
                got_at[taken] = time.monotonic()

            asyncio.ensure_future(wait())  # noqa: RUF006 - awaited by what it leaves in ``got_at``

            async def asked(taken: int = taken) -> bool:
                asked_at = time.monotonic()
                permit = await looking.do(looker.try_acquire)
                ready_at: float = asked_at + permit.retry_after
                return ready_at - started_at >= 0.5 * (taken + 1) - 0.05

            await eventually_async(asked, 5.0, "a reservation more")
        await eventually_async(lambda: len(got_at) == 4, 8.0, "four permits")
        early = [taken for taken, at in got_at.items() if at - started_at < 0.5 * taken - 0.05]
        assert early == []
        assert time.monotonic() - started_at >= 1.8

    async def test_an_interrupted_wait_gives_its_place_back(self, world: World) -> None:
        """Cancelled while it waits, the last in line leaves no hole."""
        alice, bob = world.party(), world.party()
        limit = limiter(alice, "1/10s", 1)
        await alice.do(limit.acquire)
        before = await alice.do(limit.try_acquire)
        waiting = bob.begin(limiter(bob, "1/10s", 1).acquire)

        async def reserved() -> bool:
            return bool((await alice.do(limit.try_acquire)).retry_after > 10)

        await eventually_async(reserved, 5.0, "a reservation")
        waiting.interrupt()
        with pytest.raises(Interrupted):
            await waiting
        after = await alice.do(limit.try_acquire)
        assert after.retry_after <= before.retry_after <= 10

    async def test_other_terms_are_refused_while_it_is_in_use(self, world: World) -> None:
        """Two programs that disagree about the rate are told so; ``adopt`` changes it."""
        alice, bob = world.party(), world.party()
        await alice.do(limiter(alice).acquire)
        with pytest.raises(Misuse, match="adopt"):
            await bob.do(limiter(bob, "20/h").try_acquire)
        adopting = limiter(bob, "20/h", adopt=True)
        assert (await bob.do(adopting.try_acquire)).remaining == 18
        with pytest.raises(Misuse):
            await alice.do(limiter(alice).try_acquire)

    async def test_bad_terms(self, world: World) -> None:
        """What is no rate, burst or number of permits is refused before anything is asked."""
        client: Any = world.client()
        for rate, burst in BAD_TERMS:
            with pytest.raises(Misuse):
                client.limiter("x", rate, burst)
        alice = world.party(client=client)
        for number in (0, -1, 11, 1.0, True, None):
            with pytest.raises(Misuse):
                await alice.do(partial(limiter(alice).try_acquire, number))
        assert (await alice.do(limiter(alice).try_acquire)).remaining == 9

    async def test_a_limited_function(self, world: World) -> None:
        """As a decorator each call takes a permit first, by the name that its arguments make."""
        alice = world.party()
        client: Any = alice.client

        def send(user: str) -> str:
            return user

        decorate = client.limiter("mail:{user}", "1/h", wait=0)
        limited = decorate(world.native(send))
        assert await alice.do(partial(limited, "a")) == "a"
        assert await alice.do(partial(limited, user="b")) == "b"
        with pytest.raises(RateLimited) as refused:
            await alice.do(partial(limited, "a"))
        assert refused.value.name == "mail:a"
