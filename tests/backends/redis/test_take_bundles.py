"""Takes that many tasks ask in one turn travel as few commands, and stay each task's own affair."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf

import pytest

from holdfast import AsyncClient, BackendUnavailable, Misuse
from holdfast.backends.redis.calls import TOGETHER
from holdfast.backends.redis.line import Line
from holdfast.backends.redis.requests import Post
from holdfast.flows.limit import Permit
from holdfast.rules.bucket_messages import Take, Terms
from tests.backends.redis.stage import proxied
from tests.backends.redis.test_bundles import _calls
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.anyio

MANY = 100
SLOW = "100/h"
"""Nobody's permit comes back while a test lasts."""


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[AsyncClient]:
    """Make a client that has met its server, and has taken a permit."""
    async with AsyncClient(url) as client:
        await client.limiter("warm", SLOW).try_acquire()
        yield client


def _nobody(_: object) -> None:
    """Hear nothing."""


async def test_a_turn_of_takes_is_a_few_commands() -> None:
    """The first leaves at once, the others together, whatever they want."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            server.ask("CONFIG", "RESETSTAT")
            limiters = [client.limiter(f"take:{one}", f"{one + 2}/h") for one in range(MANY)]
            permits = await asyncio.gather(
                *(one.try_acquire(1 + 1 % one.burst) for one in limiters)
            )
            assert permits == [Permit(True, 0.0, one) for one in range(MANY)]
            assert _calls(server) <= 2 + MANY // TOGETHER


async def test_one_bucket_gives_each_its_own_in_the_order_of_asking() -> None:
    """As if they had come one after the other: who comes first is served, to the last permit."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            limiter = client.limiter("shared", SLOW)
            wants = [1 + number % 3 for number in range(MANY)]
            permits = await asyncio.gather(*(limiter.try_acquire(one) for one in wants))
            left = 100
            for want, permit in zip(wants, permits, strict=True):
                assert permit.allowed == (want <= left)
                left -= want * permit.allowed
                assert permit.remaining == left
                assert permit.allowed or 0 < permit.retry_after <= 3 * 36
            assert left == 0


async def test_a_full_command_leaves_at_once() -> None:
    """The server need not wait for the end of the turn, unless it has enough to do already.

    What else was asked goes along, and the order stays.
    """

    class Transport(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.written: list[bytes] = []

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.written.append(bytes(data))

    post = Post("p", 0.0, clustered=False)
    takes = [Take("limiter", "x", f"take{number:04}", 1, Terms(1, 1, 9)) for number in range(99)]
    post.letter(takes[0])  # from now on they are parcels
    line, transport = Line(asyncio.get_running_loop(), ("", 0), "", _nobody, _nobody), Transport()
    line.connection_made(transport)
    for number, take in enumerate(takes):
        if number == 10:
            line.ask(b"between", inf)
        parcel = post.parcel(take)
        assert parcel is not None
        line.send_along(parcel, line.loop.create_future(), inf)
    early = len(transport.written)
    await asyncio.sleep(0)
    first, *full, rest = (re.findall(rb"take\d{4}|between", one) for one in transport.written)
    names = [take.take_id.encode() for take in takes]
    assert early == 1 + len(full)
    assert first == names[:1]
    assert full == [[*names[1:25], b"between"], names[25:49]]
    assert rest == names[49:]


async def test_who_fails_fails_alone() -> None:
    """A key of a foreign kind and a limiter with other terms are nobody else's affair."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            await client.limiter("take:20", "7/h").try_acquire()
            server.ask("LPUSH", "holdfast:limiter:{take:10}:bucket", "not ours")
            server.ask("CONFIG", "RESETSTAT")
            limiters = [client.limiter(f"take:{number}", SLOW) for number in range(30)]
            asked = (one.try_acquire() for one in (*limiters, *limiters))
            answers = await asyncio.gather(*asked, return_exceptions=True)
            for number, answer in enumerate(answers):
                if number % 30 == 10:
                    assert isinstance(answer, BackendUnavailable)
                    assert "WRONGTYPE" in str(answer)
                elif number % 30 == 20:
                    assert isinstance(answer, Misuse)
                else:
                    assert answer == Permit(True, 0.0, 99 - number // 30)
            assert _calls(server) <= 4, "nobody had to ask again"


async def test_scripts_that_are_flushed() -> None:
    """A server that has forgotten its scripts refuses all of them: each is answered in the end."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            server.ask("SCRIPT", "FLUSH")
            limiter = client.limiter("shared", SLOW)
            permits = await asyncio.gather(*(limiter.try_acquire() for _ in range(MANY)))
            assert sorted(permit.remaining for permit in permits) == list(range(MANY))


async def test_lost_replies_are_asked_for_again_by_each() -> None:
    """The server has taken their permits; each is told so, and none are taken twice."""
    with RedisServer() as server, Proxy(server.address) as proxy:
        async with _client(proxied(server.url(quarantine=0), proxy.port)) as client:
            limiter = client.limiter("shared", SLOW)
            proxy.drop_reply(lambda chunk: chunk.count(b"{shared}:bucket") > 1)
            permits = await asyncio.gather(*(limiter.try_acquire() for _ in range(TOGETHER)))
            assert proxy.dropped_replies == 1
            assert all(permits)
            assert (await limiter.try_acquire()).remaining == 100 - TOGETHER - 1


@pytest.mark.parametrize("which", [5, 9])
async def test_a_cancelled_task_leaves_its_companions_alone(which: int) -> None:
    """It is in the command already: the last gives its permit back, who has successors cannot."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            limiter = client.limiter("shared", SLOW)
            tasks = [asyncio.create_task(limiter.acquire()) for _ in range(10)]
            await asyncio.sleep(0)  # all have asked, nothing has been answered
            tasks[which].cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(answers.pop(which), asyncio.CancelledError)
            assert all(isinstance(answer, Permit) for answer in answers)
            taken = 9 if which == 9 else 10
            assert (await limiter.try_acquire()).remaining == 100 - taken - 1
