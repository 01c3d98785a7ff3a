"""A minority that fails, in every way there is: nobody notices but those who look."""

from __future__ import annotations

import pytest

from holdfast import BackendUnavailable, Client
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually, eventually_async
from tests.backends.redis.stage import world_at
from tests.backends.redlock.quorum import Servers, quorum

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


async def _lives(servers: Servers, mode: Mode, hurt: object, heal: object) -> None:
    """Take, keep and pass on a lock while a minority is hurt, and after it was healed."""
    async with world_at(servers.url(), mode) as world:
        alice, bob = world.party(), world.party()
        first = await alice.acquire("x", ttl=2)
        hurt()  # type: ignore[operator]
        waiting = bob.begin_acquire("x", ttl=2)
        await world.pass_time(2.2)  # longer than its ttl: it is renewed
        assert first.held
        await alice.release(first)
        second = await waiting
        assert second.token > first.token
        heal()  # type: ignore[operator]
        await bob.release(second)
        third = await alice.acquire("x", wait=5)
        assert third.token > second.token
        await alice.release(third)

        async def all_free() -> bool:
            return all(vote.endswith("free") for vote in (await world.look()).votes)

        await eventually_async(all_free, 10.0, "every server back, and nothing left there")


@pytest.mark.parametrize("count", [3, 5])
async def test_killed_and_restarted_empty(mode: Mode, count: int) -> None:
    """The others go on; whoever comes back empty votes again, with the tokens of the others."""
    with quorum(count) as servers:

        def hurt() -> None:
            for server in servers.minority:
                server.kill()

        def heal() -> None:
            for server in servers.minority:
                server.start()

        await _lives(servers, mode, hurt, heal)


async def test_stopped(mode: Mode) -> None:
    """Servers that accept everything and answer nothing; what they were asked is tidied up."""
    with quorum(5) as servers:

        def hurt() -> None:
            for server in servers.minority:
                server.pause()

        def heal() -> None:
            for server in servers.minority:
                server.resume()

        await _lives(servers, mode, hurt, heal)


async def test_cut_off(mode: Mode) -> None:
    """A network that parts and comes together again."""
    with quorum(3, proxied=True) as servers:
        await _lives(servers, mode, servers.proxies[0].silence, servers.proxies[0].mend)


async def test_a_server_that_is_silent_from_the_start(mode: Mode) -> None:
    """It keeps nobody from the others: each of them has its share of the time there is."""
    with quorum(3, proxied=True) as servers:
        servers.proxies[0].silence()
        async with world_at(servers.url(node_limit="2s"), mode) as world:
            alice = world.party(call_limit=3.0)
            await alice.release(await alice.acquire("x", wait=0))


async def test_a_stopped_server_is_not_waited_for(mode: Mode) -> None:
    """After the first silence it is not asked on every call, and named by whoever looks."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x"))
            servers.all[0].pause()
            try:
                silent = await _until_given_up(alice)
                assert "node_limit" in silent or "connection" in silent
                lease = await alice.acquire("x")
                assert lease.held
                await alice.release(lease)
            finally:
                servers.all[0].resume()


async def _until_given_up(party: object) -> str:
    async def named() -> str:
        votes = (await party.show("x")).votes  # type: ignore[attr-defined]
        return next((vote for vote in votes if not vote.endswith("free")), "")

    found = await eventually_async(named, 5.0, "the silent server named")
    return str(found)


@pytest.mark.parametrize("count", [3, 5])
async def test_a_majority_that_is_down(mode: Mode, count: int) -> None:
    """Nobody is let in, within the time that a caller has, and nothing is left behind."""
    with quorum(count) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party(call_limit=1.0)
            await alice.release(await alice.acquire("x"))
            down = servers.all[: count // 2 + 1]
            for server in down:
                server.kill()
            with pytest.raises(BackendUnavailable, match=f"{count // 2 + 1} are needed"):
                await alice.acquire("x", wait=0.5)
            for server in down:
                server.start()

            async def free() -> bool:
                return all(vote.endswith("free") for vote in (await world.look()).votes)

            await eventually_async(free, 10.0, "nothing left of the claim that failed")


async def test_a_lease_is_lost_before_its_majority_is(mode: Mode) -> None:
    """What cannot be renewed on a majority ends on the holder's clock, before its votes do."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party(call_limit=1.0)
            lease = await alice.acquire("x", ttl=1.5, on_loss="flag")
            for server in servers.all[:2]:
                server.kill()
            await eventually_async(lambda: lease.lost, 5.0, "the loss")
            seen = servers.all[2].ask("KEYS", f"{world.prefix}:quorum:{{x}}")
            assert seen, "the vote of the last server outlives the belief"
            for server in servers.all[:2]:
                server.start()


async def test_a_release_that_finds_no_script(mode: Mode) -> None:
    """A server whose scripts were flushed is told again when it has them: no vote outlives it."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party()
            for name in "uvwxyz":  # more than one: it matters when the refusal is read
                lease = await alice.acquire(name, ttl=60)
                servers.all[0].ask("SCRIPT", "FLUSH")
                servers.all[0].ask("CLIENT", "PAUSE", 50, "ALL")  # so that the others decide
                await alice.release(lease)

            async def all_free() -> bool:
                seen = [await alice.show(name) for name in "uvwxyz"]
                return all(vote.endswith("free") for one in seen for vote in one.votes)

            await eventually_async(all_free, 15.0, "the votes taken back there too")


async def test_a_lease_outlives_all_its_servers(mode: Mode) -> None:
    """One after the other restarts empty: each is asked for its vote anew."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party()
            lease = await alice.acquire("x", ttl=3)
            for server in servers.all:
                server.restart(killed=True)

                async def healed() -> bool:
                    votes = (await alice.show("x")).votes
                    return all("held by" in vote for vote in votes)

                await eventually_async(healed, 10.0, "all votes again")
            assert lease.held
            await alice.release(lease)


async def test_tokens_grow_through_rolling_restarts(mode: Mode) -> None:
    """No server remembers anything in the end, and still no token comes twice."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party()
            tokens: list[int] = []
            for server in servers.all * 2:
                lease = await alice.acquire("x", wait=5)
                tokens.append(lease.token)
                await alice.release(lease)
                server.restart(killed=True)

                def back(at: int = server.port) -> bool:
                    with Client(servers.url(), prefix=world.prefix) as other:
                        other.lock("y").acquire(wait=5).release()
                        votes = other.show("y").votes
                    return any(vote == f"127.0.0.1:{at}: free" for vote in votes)

                eventually(back, 10.0, "the server votes again")
            assert tokens == sorted(set(tokens))


async def test_a_listing_does_not_wait_for_a_silent_server(mode: Mode) -> None:
    """However long a call may take: whoever is silent is waited for once, and briefly."""
    with quorum(3) as servers:
        async with world_at(servers.url(), mode) as world:
            alice = world.party(call_limit=50)
            lease = await alice.acquire("x", ttl=60)
            servers.minority[0].pause()
            for _ in range(2):  # the test's own limit is shorter than one call's
                assert [one.name for one in await alice.locks()] == ["x"]
            servers.minority[0].resume()
            await alice.release(lease)


async def test_one_try_at_servers_that_do_not_vote_yet(mode: Mode) -> None:
    """It is one try: told at once that, and why, nobody is let in yet."""
    with quorum(3) as servers:
        async with world_at(servers.url(quarantine="50s"), mode) as world:
            alice = world.party(call_limit=50)  # longer than this test may take
            with pytest.raises(BackendUnavailable, match="too few servers vote") as error:
                await alice.acquire("x", wait=0)
            assert (error.value.transient, error.value.outcome) == (False, "none")
        assert servers.votes() == []
