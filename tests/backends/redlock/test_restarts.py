"""What a server keeps of its votes over a restart, and what a server may throw away."""

import logging
from typing import Any

import pytest

from holdfast import BackendUnavailable, Client, LockBusy
from holdfast.backends.redlock import council
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually_async
from tests.backends.redis.stage import world_at
from tests.backends.redlock.quorum import Servers, quorum
from tests.servers.redis import RedisServer, start_all

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

LONG = {"quarantine": "1h", "node_limit": "2s"}
"""Whoever votes after a restart in these tests was let in at once."""


def _found(servers: Servers, prefix: str) -> None:
    """Let in all servers, new as they are."""
    with Client(servers.url(), prefix=prefix) as founder:
        founder.lock("founded").acquire(wait=10).release()


async def test_one_that_writes_everything_down_votes_at_once(mode: Mode) -> None:
    """With ``appendfsync always``: it knows whose vote it has, and is needed for a majority."""
    with quorum(3, durable=True) as servers:
        async with world_at(servers.url(**LONG), mode) as world:
            _found(servers, world.prefix)
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=60)
            servers.all[0].restart(killed=True)
            votes = (await bob.show("x")).votes
            assert all(vote.endswith(f"with token {lease.token}") for vote in votes)
            servers.all[2].kill()
            other = await bob.acquire("y", wait=10)
            assert other.held
            await bob.release(other)
            await alice.release(lease)


async def test_all_of_them_may_restart(mode: Mode) -> None:
    """Nothing was forgotten: nobody else is let in, and the lease goes on."""
    with quorum(3, durable=True) as servers:
        async with world_at(servers.url(**LONG), mode) as world:
            _found(servers, world.prefix)
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=60)
            for server in servers.all:
                server.kill()
            start_all(servers.all)
            with pytest.raises(LockBusy):
                await bob.acquire("x", wait=0)
            assert lease.held
            await alice.release(lease)
            after = await bob.acquire("x", wait=10)
            assert after.token > lease.token
            await bob.release(after)


async def test_one_that_may_have_lost_a_second_votes_not(mode: Mode) -> None:
    """With ``appendfsync everysec`` it may have forgotten its last votes: it has to wait."""
    with quorum(3, durable=True, appendfsync="everysec") as servers:
        async with world_at(servers.url(**LONG), mode) as world:
            _found(servers, world.prefix)
            alice = world.party(call_limit=2.0)
            await alice.release(await alice.acquire("x"))
            servers.all[0].restart(killed=True)
            servers.all[2].kill()

            async def votes_not() -> bool:
                try:
                    await alice.acquire("x", wait=0)
                except BackendUnavailable as error:
                    return "it has restarted and does not vote yet" in str(error)
                raise AssertionError("one of two votes was enough")

            await eventually_async(votes_not, 30.0, "it says that it does not vote")
            run = servers.all[0].info("server")["run_id"]
            assert servers.all[0].ask("HGET", f"{world.prefix}:quorum:birth", "run") != run


@pytest.mark.parametrize("evicting", [0, 1, 3])
async def test_servers_that_evict_are_named(
    mode: Mode, evicting: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A vote can be thrown away there; said once, and whether the others are unlike them."""
    monkeypatch.setattr(council, "_said", set())
    policy: dict[str, Any] = {"maxmemory": "100mb", "maxmemory_policy": "allkeys-lru"}
    servers = [RedisServer(**(policy if at < evicting else {})) for at in range(3)]
    start_all(servers)
    try:
        names = [f"127.0.0.1:{server.port}" for server in servers]
        with caplog.at_level(logging.WARNING, "holdfast.survey"):
            async with world_at(
                f"redlock://{','.join(names)}?quarantine=0&node_limit=2s", mode
            ) as world:
                for party in (world.party(), world.party()):
                    await party.release(await party.acquire("x"))
    finally:
        for server in servers:
            server.close()
    said = [one.getMessage() for one in caplog.records if one.name == "holdfast.survey"]
    assert len(said) == min(evicting, 1)
    for words in said:
        named, _, advice = words.partition(" can throw a vote away")
        assert [name for name in names if f" {name}" in named.replace("://", ",")] == names[
            :evicting
        ]
        assert "allkeys-lru" in advice
        assert "Set noeviction on all of them" in advice
        assert ("unlike the others" in advice) == (evicting == 1)
