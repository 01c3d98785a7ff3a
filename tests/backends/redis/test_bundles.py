"""What many tasks ask in one turn travels as few commands, and stays each task's own affair."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from holdfast import AsyncClient, BackendUnavailable, LockBusy
from holdfast.api.lease import AsyncLease
from holdfast.backends.redis.calls import TOGETHER
from holdfast.backends.redis.scripts import script
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import proxied
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.anyio

MANY = 100
NAMES = [f"bundle:{number}" for number in range(MANY)]


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[AsyncClient]:
    """Make a client that has met its server."""
    async with AsyncClient(url) as client:
        async with client.lock("warm"):
            pass
        yield client


async def _all(client: AsyncClient, names: list[str]) -> list[AsyncLease]:
    return await asyncio.gather(*(client.lock(name, wait=0).acquire() for name in names))


def _calls(server: RedisServer) -> int:
    """Count the scripts that the server was asked for by name."""
    for line in str(server.ask("INFO", "commandstats")).splitlines():
        if line.startswith("cmdstat_evalsha:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


async def test_a_turn_of_claims_is_a_few_commands() -> None:
    """The first leaves at once, the others together; giving back is the same."""
    few = 2 + MANY // TOGETHER
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            server.ask("CONFIG", "RESETSTAT")
            leases = await _all(client, NAMES)
            assert all(lease.held for lease in leases)
            assert len({lease.name for lease in leases}) == MANY
            assert _calls(server) <= few
            await asyncio.gather(*(lease.release() for lease in leases))
            assert _calls(server) <= 2 * few
            assert not await client.locks("bundle:")


async def test_each_claim_gets_its_own_answer() -> None:
    """In one command some are free, some are held, one is refused: nobody hears of the others."""
    with RedisServer() as server:
        url = server.url(quarantine=0)
        async with _client(url) as other, _client(url) as client:
            taken = await _all(other, NAMES[::3])
            asked = (client.lock(name, wait=0).acquire() for name in NAMES)
            answers = await asyncio.gather(*asked, return_exceptions=True)
            for number, answer in enumerate(answers):
                if number % 3:
                    assert isinstance(answer, AsyncLease)
                    assert answer.name == NAMES[number]
                    await answer.release()
                else:
                    assert isinstance(answer, LockBusy)
                    assert answer.name == NAMES[number]
            assert all(lease.held for lease in taken)


async def test_who_fails_fails_alone() -> None:
    """A key of a foreign kind breaks the command; those who travelled with it get their locks."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            server.ask("LPUSH", "holdfast:{bundle:50}", "not ours")
            asked = (client.lock(name, wait=0).acquire() for name in NAMES)
            answers = await asyncio.gather(*asked, return_exceptions=True)
            failed = [answer for answer in answers if not isinstance(answer, AsyncLease)]
            assert answers.index(failed[0]) == 50
            assert len(failed) == 1
            assert isinstance(failed[0], BackendUnavailable)
            assert failed[0].outcome == "unknown"  # it was not alone: who knows what was done
            server.ask("DEL", "holdfast:{bundle:50}")
            assert len(await client.locks("bundle:")) == MANY - 1


async def test_a_release_that_fails_keeps_nobody_else_from_giving_back() -> None:
    """The same on the way out: one is left to its ttl, the others are free at once."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            leases = await _all(client, NAMES)
            server.ask("DEL", "holdfast:{bundle:50}")
            server.ask("LPUSH", "holdfast:{bundle:50}", "not ours")
            await asyncio.gather(*(lease.release() for lease in leases))
            server.ask("DEL", "holdfast:{bundle:50}")
            assert not await client.locks("bundle:")


async def test_scripts_that_are_flushed() -> None:
    """A server that has forgotten its scripts refuses all of them: each is answered in the end."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            server.ask("SCRIPT", "FLUSH")
            leases = await _all(client, NAMES)
            server.ask("SCRIPT", "FLUSH")
            await asyncio.gather(*(lease.release() for lease in leases))
            assert not await client.locks("bundle:")


async def test_a_lost_reply_is_asked_for_again_by_each() -> None:
    """The server has granted them all; each is told of the grant that it already has."""
    with RedisServer() as server, Proxy(server.address) as proxy:
        async with _client(proxied(server.url(quarantine=0), proxy.port)) as client:
            proxy.drop_reply(script("claim").sha)
            leases = await _all(client, NAMES)
            assert proxy.dropped_replies == 1
            assert all(lease.held for lease in leases)
            assert len(await client.locks("bundle:")) == MANY
            await asyncio.gather(*(lease.release() for lease in leases))


async def test_a_cancelled_task_leaves_its_companions_alone() -> None:
    """It is in the command already; nothing is left of it, and the others hold what they asked."""
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:
            tasks = [asyncio.create_task(client.lock(name).acquire()) for name in NAMES[:10]]
            await asyncio.sleep(0)  # all have asked, nothing has been answered
            tasks[5].cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(answers[5], asyncio.CancelledError)
            held = [answer for answer in answers if isinstance(answer, AsyncLease)]
            assert len(held) == 9
            assert all(lease.held for lease in held)
            assert len(await client.locks("bundle:")) == 9


async def test_those_who_ask_in_one_turn_are_served_in_their_order() -> None:
    """Also when what they want differs, so that they cannot travel in one command."""
    served: list[int] = []
    with RedisServer() as server:
        async with _client(server.url(quarantine=0)) as client:

            async def come(number: int) -> None:
                async with client.lock("bundle:line", ttl=10 + number % 2):
                    served.append(number)

            async def all_wait() -> bool:
                return len((await client.show("bundle:line")).queue) == 20

            async with client.lock("bundle:line"):
                waiting = [asyncio.create_task(come(number)) for number in range(20)]
                await eventually_async(all_wait, what="twenty in line")
            await asyncio.gather(*waiting)
            assert served == list(range(20))
