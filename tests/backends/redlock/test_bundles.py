"""Votes that many tasks ask of a server in one turn travel as few commands.

Each claim is judged by its own votes, whatever becomes of the servers and of those who travelled
with it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from holdfast import AsyncClient, BackendUnavailable, LockBusy
from holdfast.api.lease import AsyncLease
from holdfast.backends.redis.calls import TOGETHER
from holdfast.backends.redlock.scripts import script
from holdfast.rules.messages import Claim, Want
from holdfast.rules.quorum_messages import Undo
from holdfast.testing.watching import eventually_async
from holdfast.values import Holder
from tests.backends.redis.test_bundles import _calls
from tests.backends.redlock.quorum import Servers, foreign, quorum

pytestmark = pytest.mark.anyio

MANY = 100
NAMES = [f"bundle:{number}" for number in range(MANY)]
FEW = NAMES[:20]
PATIENT = {"node_limit": "5s"}
"""A busy machine is no silent server."""

STRANGER = Holder("stranger", "host", 7, "a stranger")


@asynccontextmanager
async def _client(servers: Servers, **options: str) -> AsyncIterator[AsyncClient]:
    """Make a client that has met all servers; its leases need no renewal while a test runs."""
    async with AsyncClient(servers.url(**{**PATIENT, **options}), ttl=60) as client:
        async with client.lock("warm"):
            pass
        yield client


def _begin(client: AsyncClient, names: Sequence[str]) -> list[asyncio.Task[AsyncLease]]:
    return [asyncio.create_task(client.lock(name, wait=0).acquire()) for name in names]


async def _all(client: AsyncClient, names: Sequence[str]) -> list[AsyncLease]:
    return await asyncio.gather(*_begin(client, names))


async def _release(leases: Sequence[AsyncLease]) -> None:
    await asyncio.gather(*(lease.release() for lease in leases))


async def _all_free(client: AsyncClient, names: Sequence[str]) -> None:
    """Wait until no server has a vote for any of the names."""

    async def free() -> bool:
        shown = await asyncio.gather(*(client.show(name) for name in names))
        return all(vote.endswith("free") for one in shown for vote in one.votes)

    await eventually_async(free, 15.0, "every server back, and nothing left there")


def _stray(name: str) -> Claim:
    return Claim(name, f"stray-{name}", Want("lock", 1, 1, 60.0), STRANGER, "", 0.0)


async def test_a_turn_of_claims_is_a_few_commands_for_each_server() -> None:
    """The first leaves at once, the others together; giving back is the same."""
    few = 2 + MANY // TOGETHER
    with quorum(3) as servers:
        async with _client(servers) as client:
            for server in servers.all:
                server.ask("CONFIG", "RESETSTAT")
            leases = await _all(client, NAMES)
            assert [lease.name for lease in leases] == NAMES
            assert all(lease.held for lease in leases)
            await eventually_async(lambda: len(servers.votes()) >= 3 * MANY, what="all votes")
            assert max(map(_calls, servers.all)) <= few
            await _release(leases)
            assert max(map(_calls, servers.all)) <= 2 * few
            await _all_free(client, FEW)


async def test_each_claim_gets_its_own_answer() -> None:
    """In one command some are free and some are held: nobody hears of the others."""
    with quorum(3) as servers:
        async with _client(servers) as other, _client(servers) as client:
            taken = await _all(other, NAMES[::3])
            answers = await asyncio.gather(*_begin(client, NAMES), return_exceptions=True)
            for number, answer in enumerate(answers):
                expected = AsyncLease if number % 3 else LockBusy
                assert isinstance(answer, expected)
                assert answer.name == NAMES[number]
            assert all(lease.held for lease in taken)


@pytest.mark.parametrize("hurt", [1, 2])
async def test_who_fails_fails_alone(hurt: int) -> None:
    """A key of a foreign kind on one server costs nobody the lock, on two only whose key it is."""
    key = "holdfast:quorum:{bundle:50}"
    with quorum(3) as servers:
        async with _client(servers) as client:
            for server in servers.all[:hurt]:
                server.ask("LPUSH", key, "not ours")
            answers = await asyncio.gather(*_begin(client, NAMES), return_exceptions=True)
            failed = [one for one in answers if not isinstance(one, AsyncLease)]
            if hurt == 1:
                assert failed == []
            else:
                assert len(failed) == 1
                assert isinstance(failed[0], BackendUnavailable)
                assert answers.index(failed[0]) == 50
                assert failed[0].outcome == "unknown"  # who knows what was done
            await _release([one for one in answers if isinstance(one, AsyncLease)])
            for server in servers.all[:hurt]:
                server.ask("DEL", key)
            await _all_free(client, NAMES[40:60])


async def test_a_server_that_dies_in_the_middle_of_a_bundle() -> None:
    """Those who waited for it go on with the votes of the others, each for itself."""
    with quorum(3) as servers:
        dies, late, well = servers.all
        async with _client(servers) as client:
            dies.pause()
            late.pause()
            tasks = _begin(client, FEW)

            def voted() -> bool:
                return len(well.ask("KEYS", "holdfast:quorum:{bundle:*}")) == len(FEW)

            await eventually_async(voted, what="the votes of the only one that answers")
            assert not any(task.done() for task in tasks)
            dies.kill()
            late.resume()
            leases = await asyncio.gather(*tasks)
            assert all(lease.held for lease in leases)
            dies.start()
            await _release(leases)
            await _all_free(client, FEW)


async def test_a_late_server_decides_what_is_undecided() -> None:
    """Some claims of its bundle are decided without it, the others by its word when it comes."""
    with quorum(3) as servers:
        late, _, split = servers.all
        async with _client(servers) as client:
            for name in FEW[1::2]:
                foreign(split, _stray(name))
            late.pause()
            tasks = _begin(client, FEW)
            await asyncio.gather(*tasks[::2])
            assert not any(task.done() for task in tasks[1::2])
            late.resume()
            leases = await asyncio.gather(*tasks)
            assert all(lease.held for lease in leases)
            for name in FEW[1::2]:
                foreign(split, Undo(name, f"stray-{name}"))
            await _release(leases)
            await _all_free(client, FEW)


async def test_a_server_that_is_too_late_is_tidied_up() -> None:
    """Its bundle is carried out after all: the leases stay, what was given up is taken back."""
    with quorum(3) as servers:
        late, _, split = servers.all
        async with _client(servers, node_limit="1s") as client:
            for name in FEW[1::2]:
                foreign(split, _stray(name))
            late.pause()
            tasks = _begin(client, FEW)
            leases = await asyncio.gather(*tasks[::2])
            given_up = await asyncio.gather(*tasks[1::2], return_exceptions=True)
            assert all(isinstance(one, LockBusy) for one in given_up)
            late.resume()
            for name in FEW[1::2]:
                foreign(split, Undo(name, f"stray-{name}"))
            await _all_free(client, FEW[1::2])
            assert all(lease.held for lease in leases)
            await _release(leases)
            await _all_free(client, FEW)


async def test_each_token_is_brought_up_by_itself() -> None:
    """Where the counters of a name disagree there is a second round, for this name alone."""
    with quorum(3) as servers:
        ahead, _, gone = servers.all
        async with _client(servers) as client:
            before = await _all(client, FEW)
            far = max(lease.token for lease in before) + 1000
            await _release(before)
            for name in FEW[::2]:
                foreign(ahead, _stray(name)._replace(seen_token=far))
                foreign(ahead, Undo(name, f"stray-{name}"))
            gone.kill()
            leases = await _all(client, FEW)
            assert {lease.token for lease in leases[::2]} == {far + 2}
            assert all(lease.token < far for lease in leases[1::2])
            for lease in leases:
                told = [vote for vote in (await client.show(lease.name)).votes if "held" in vote]
                assert len(told) == 2
                assert all(vote.endswith(f"with token {lease.token}") for vote in told)


async def test_a_server_that_votes_not_says_so_to_all_of_them() -> None:
    """One that was emptied is done without; somebody sees to it that it votes again."""
    with quorum(3) as servers:
        async with _client(servers) as client:
            servers.all[0].ask("FLUSHALL")
            leases = await _all(client, NAMES)
            assert all(lease.held for lease in leases)
            await _release(leases)
            await _all_free(client, FEW)
            again = await _all(client, FEW)
            await eventually_async(
                lambda: len(servers.all[0].ask("KEYS", "*:{bundle:*}")) == len(FEW),
                what="its votes",
            )
            await _release(again)


@pytest.mark.parametrize("hurt", [1, 3])
async def test_scripts_that_are_flushed(hurt: int) -> None:
    """A server that has forgotten its scripts refuses all of them: each is answered in the end."""
    with quorum(3) as servers:
        async with _client(servers) as client:
            for server in servers.all[:hurt]:
                server.ask("SCRIPT", "FLUSH")
            leases = await _all(client, NAMES)
            for server in servers.all[:hurt]:
                server.ask("SCRIPT", "FLUSH")
            await _release(leases)
            await _all_free(client, FEW)


async def test_a_lost_reply() -> None:
    """A server has voted for them all, and nobody heard it: nothing is left there in the end."""
    with quorum(3, proxied=True) as servers:
        async with _client(servers) as client:
            servers.proxies[0].drop_reply(script("claim").sha, times=2)
            leases = await _all(client, NAMES)
            await eventually_async(lambda: servers.proxies[0].dropped_replies, what="the loss")
            await _release(leases)
            await _all_free(client, FEW)


async def test_a_cancelled_task_leaves_its_companions_alone() -> None:
    """It is in the command already; nothing is left of it, and the others hold what they asked."""
    with quorum(3) as servers:
        async with _client(servers) as client:
            tasks = _begin(client, FEW)
            await asyncio.sleep(0)  # all have asked, nothing has been answered
            tasks[5].cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(answers[5], asyncio.CancelledError)
            held = [answer for answer in answers if isinstance(answer, AsyncLease)]
            assert len(held) == len(FEW) - 1
            assert all(lease.held for lease in held)
            await _all_free(client, [FEW[5]])
            assert len(await client.locks("bundle:")) == len(FEW) - 1
