"""Behind one name the server changes; scripts are loaded once; what is missing is said in words."""

import asyncio
import sys
from typing import Any

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, Misuse, clock
from holdfast.backends import registry
from holdfast.backends.redis.stack import MOST_IDLE
from holdfast.backends.redis.survey import Survey
from holdfast.backends.redis.target import target_of
from holdfast.settings import address
from holdfast.testing.suite.backend import MODES, Mode
from tests.backends.redis.stage import proxied, world_at
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_a_demoted_master_behind_the_same_name(mode: Mode) -> None:
    """READONLY makes the client connect anew, and the name leads to the new master by now."""
    with RedisServer() as old, RedisServer() as new, Proxy(old.address) as proxy:
        async with world_at(proxied(old.url(quarantine=0), proxy.port), mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x"))
            proxy.target = new.address
            old.ask("REPLICAOF", "127.0.0.1", new.port)
            lease = await alice.acquire("x", ttl=5)
            assert new.ask("EXISTS", f"{world.prefix}:{{x}}") == 1
            await alice.release(lease)


@pytest.mark.anyio
async def test_scripts_are_loaded_once() -> None:
    """Three hundred tasks that meet a server without scripts do not each load them."""
    with RedisServer() as server:
        async with AsyncClient(server.url(quarantine=0)) as client:

            async def work(number: int) -> None:
                async with client.lock(f"n{number}"):
                    pass

            await asyncio.gather(*(work(number) for number in range(300)))
            assert _loads(server) <= 4
            server.ask("SCRIPT", "FLUSH")
            leases = [await client.lock(f"m{number}").acquire() for number in range(50)]
            server.ask("SCRIPT", "FLUSH")
            await client.release_all()
            assert not any(lease.held for lease in leases)
            assert _loads(server) <= 8


def _loads(server: RedisServer) -> int:
    stats = server.info("commandstats")
    calls = stats.get("cmdstat_script|load", "calls=0").partition(",")[0]
    return int(calls.removeprefix("calls="))


def test_scripts_are_loaded_once_for_a_batch() -> None:
    """Fifty leases given back together after SCRIPT FLUSH load the script once."""
    with RedisServer() as server, Client(server.url(quarantine=0)) as client:
        leases = [client.lock(f"n{number}").acquire() for number in range(50)]
        before = _loads(server)
        server.ask("SCRIPT", "FLUSH")
        client.release_all()
        assert not any(lease.held for lease in leases)
        assert _loads(server) - before == 1


def test_a_storm_of_threads_leaves_few_connections() -> None:
    """What many callers needed at once is closed when they rest."""
    with RedisServer() as server, Client(server.url(quarantine=0)) as client:
        wire: Any = client._engine.session.wire
        by = clock.now() + 5
        lent = [wire.stack.borrow(server.address, clock.now(), by) for _ in range(40)]
        for link in lent:
            wire.stack.give_back(link)
        connected = str(server.ask("CLIENT", "LIST")).strip().splitlines()
        assert len(connected) <= MOST_IDLE + 1  # and we who ask


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hiredis the error says what to install."""
    for module in [name for name in sys.modules if name.startswith("holdfast.backends.redis")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "hiredis", None)
    with pytest.raises(Misuse, match=r"pip install 'holdfast\[redis\]'"):
        registry.open_backend(address("redis://localhost"), "holdfast")


def test_a_server_that_is_too_old() -> None:
    """What lacks the commands that the scripts need is refused in words, when connecting."""
    survey = Survey(target_of(address("redis://old.example")))
    with pytest.raises(BackendUnavailable, match=r"5\.0\.3.*6\.2 or newer") as error:
        survey.read([b"# Server\r\nredis_version:5.0.3\r\n", [], []])
    assert not error.value.transient


@pytest.mark.parametrize(
    "info, save, fsync, survives",
    [
        (
            b"aof_enabled:1\r\nmaxmemory:0\r\n",
            [],
            [b"appendfsync", b"always"],
            ("restart", "eviction"),
        ),
        (b"aof_enabled:0\r\nmaxmemory:0\r\n", [b"save", b"900 1"], [], ("eviction",)),
        (b"aof_enabled:0\r\nmaxmemory:9\r\nmaxmemory_policy:noeviction\r\n", {}, [], ("eviction",)),
        (b"aof_enabled:0\r\nmaxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n", [], [], ()),
    ],
)
def test_what_a_lock_survives(
    info: bytes, save: object, fsync: object, survives: tuple[str, ...]
) -> None:
    """Capabilities say it, from what the server tells of itself."""
    survey = Survey(target_of(address("redis://it.example")))
    survey.read([b"redis_version:7.0.0\r\n" + info, save, fsync])
    assert survey.capabilities.survives == survives


def test_a_server_that_keeps_it_to_itself() -> None:
    """Denied INFO is unknown, not known to be bad."""
    survey = Survey(target_of(address("redis://it.example")))
    survey.read([Exception("NOPERM"), Exception("NOPERM"), Exception("NOPERM")])
    assert "not known" in survey.capabilities.notes[0]
