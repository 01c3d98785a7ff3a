"""Tasks with ``replicas=N``: one WAIT for many, on a line of its own that holds up nobody else.

Asked at the wire where deadlines matter; each caller's time is half over before it is told no.
"""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, LockBusy, clock
from holdfast.backends.redis import confirming
from holdfast.backends.redis.aio import AioWire
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.target import target_of
from holdfast.rules.messages import Claim, Ended, Granted, Look, Release, Seen, Want, Withdraw
from holdfast.rules.record_messages import Entry, Get, Swap, Swapped
from holdfast.settings import address
from holdfast.testing.watching import eventually, eventually_async
from holdfast.values import Holder
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(40)]

WANT = Want("lock", 1, 1, 60.0)
HOLDER = Holder("c", "host", 1, "")


@pytest.fixture
def pair() -> Iterator[tuple[RedisServer, RedisServer]]:
    """Give a server, and a replica that is in step with it."""
    with RedisServer() as server, RedisServer(replicaof=f"127.0.0.1 {server.port}") as replica:
        with Client(server.url(quarantine=0, replicas=1), prefix="first", call_limit=0.4) as client:
            eventually(lambda: _confirms(client), 20, "the replica to be in step")
        yield server, replica
        server.resume()
        replica.resume()


def _confirms(client: Client) -> bool:
    try:
        client.lock("x").acquire(wait=0).release()
    except (BackendUnavailable, LockBusy):  # not in step, or the last try is not withdrawn yet
        return False
    return True


@asynccontextmanager
async def wire_to(server: RedisServer) -> AsyncIterator[AioWire]:
    """Open a wire without a client; no future on it may keep an exception to itself."""
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    wire = AioWire(Office(target_of(address(server.url(quarantine=0, replicas=1))), "wired"))
    try:
        await wire.ask(claim("taught"), clock.now() + 5)  # both lines are there from now on
        yield wire
    finally:
        wire.close()
        gc.collect()
        await asyncio.sleep(0)
        loop.set_exception_handler(before)
    assert complaints == []


def claim(name: str) -> Claim:
    """Ask for a name, with an id that everybody knows."""
    return Claim(name, f"id-{name}".ljust(16, "-"), WANT, HOLDER, "", 0.0)


async def waiting(server: RedisServer) -> str:
    """Come back with the id of the connection that is in a WAIT, when there is one."""
    blocked = re.compile(r"^id=(\d+) .* flags=b .* cmd=wait ", re.MULTILINE)
    found: list[str] = []

    def look() -> bool:
        found[:] = blocked.findall(server.ask("CLIENT", "LIST"))
        return bool(found)

    await eventually_async(look, 10, "a WAIT")
    (line,) = found
    return line


def waits(server: RedisServer) -> int:
    """Say how many WAITs the server has seen."""
    told = server.info("commandstats").get("cmdstat_wait", "calls=0,")
    return int(told.partition("=")[2].partition(",")[0])


def is_free(client: Client, *names: str) -> Callable[[], bool]:
    """Say whether nobody holds any of these."""
    return lambda: not any(client.lock(name).locked() for name in names)


async def test_many_tasks_share_few_waits(pair: tuple[RedisServer, RedisServer]) -> None:
    """What is asked in one turn of the loop, or during a WAIT, is confirmed together."""
    server, _ = pair
    async with AsyncClient(server.url(quarantine=0, replicas=1)) as client:
        async with client.lock("first"):
            before = waits(server)
        leases = await asyncio.gather(*(client.lock(f"n-{i}").acquire() for i in range(60)))
        assert waits(server) - before <= 3
        assert all(lease.held for lease in leases)


async def test_a_stalled_replica_holds_up_nobody_else(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    """Names are given back and looked at; what is asked for fails in time and leaves nothing."""
    server, replica = pair
    url = server.url(quarantine=0, replicas=1)
    async with AsyncClient(url, call_limit=3) as client:
        with Client(server.url(quarantine=0)) as onlooker:
            held = [await client.lock(f"held-{i}").acquire() for i in range(5)]
            replica.pause()
            asked = [asyncio.ensure_future(client.lock(f"n-{i}").acquire()) for i in range(5)]
            began = clock.now()
            await waiting(server)
            for lease in held:
                await lease.release()
            assert not await client.lock("held-0").locked()
            assert not any(one.done() for one in asked)
            assert clock.now() - began < 1.4
            for one in asked:
                with pytest.raises(BackendUnavailable, match="replicas=1"):
                    await one
            assert 1.4 < clock.now() - began < 3
            names = [f"n-{i}" for i in range(5)]
            await eventually_async(is_free(onlooker, *names), 8, "nothing to be left behind")
        replica.resume()
        leases = await asyncio.gather(*(client.lock(name).acquire() for name in names))
        assert all(lease.held for lease in leases)


async def test_who_has_little_time_does_not_spoil_it_for_others(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    """They share a WAIT that ends for the least patient; the other one goes on to the next."""
    server, replica = pair
    async with wire_to(server) as wire:
        replica.pause()
        now = clock.now()
        patient = asyncio.ensure_future(wire.ask(claim("a"), now + 20))
        hurried = asyncio.ensure_future(wire.ask(claim("b"), now + 0.3))
        with pytest.raises(BackendUnavailable, match="replicas=1") as failed:
            await hurried
        assert failed.value.outcome == "unknown"
        later = asyncio.ensure_future(wire.ask(claim("c"), clock.now() + 20))
        await asyncio.sleep(0.6)  # more than one WAIT, and it is still not told
        assert not patient.done()
        assert not later.done()
        replica.resume()
        assert isinstance(await patient, Granted)
        assert isinstance(await later, Granted)


async def test_who_is_refused_needs_no_replica(pair: tuple[RedisServer, RedisServer]) -> None:
    """Busy is busy, though nobody confirms anything."""
    server, replica = pair
    async with AsyncClient(server.url(quarantine=0, replicas=1)) as client:
        held = await client.lock("x").acquire()
        replica.pause()
        assert await client.lock("x").try_acquire() is None
        asked = asyncio.ensure_future(client.lock("y").try_acquire())
        await waiting(server)
        began = clock.now()
        assert await client.lock("x").try_acquire() is None
        assert clock.now() - began < 1.5  # it stood behind one WAIT, and that was a short one
        assert not asked.done()
        replica.resume()
        assert await asked is not None
        assert held.held


async def test_cancelled_in_a_wait(pair: tuple[RedisServer, RedisServer]) -> None:
    """Nothing is left: of a claim that was granted, nor of one that comes behind its withdrawal."""
    server, replica = pair
    url = server.url(quarantine=0, replicas=1)
    async with AsyncClient(url, call_limit=20) as client:
        async with client.lock("first"):
            pass
        replica.pause()
        granted = asyncio.ensure_future(client.lock("granted").acquire())
        await waiting(server)
        behind = asyncio.ensure_future(client.lock("behind").acquire())  # the server reads it later
        await asyncio.sleep(0)
        for task in (granted, behind):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        seen = waits(server)
        other = asyncio.ensure_future(client.lock("other").acquire())
        await eventually_async(lambda: waits(server) >= seen + 2, 10, "what stood behind the WAIT")
        with Client(server.url(quarantine=0)) as onlooker:
            assert is_free(onlooker, "granted", "behind")()
            replica.resume()
            leases = [await other, await client.lock("behind").acquire()]
            assert all(lease.held for lease in leases)
            assert is_free(onlooker, "granted")()


async def test_a_late_claim_finds_its_withdrawal(
    pair: tuple[RedisServer, RedisServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent on the line that waits, while its withdrawal goes past it on the other."""
    monkeypatch.setattr(confirming, "AT_ONCE", 3.0)  # so that it surely does
    server, replica = pair
    async with wire_to(server) as wire:
        replica.pause()
        first = asyncio.ensure_future(wire.ask(claim("a"), clock.now() + 20))
        await waiting(server)
        late = asyncio.ensure_future(wire.ask(claim("b"), clock.now() + 20))
        await asyncio.sleep(0)
        await wire.ask(Withdraw("b", claim("b").claim_id), clock.now() + 20)
        assert not late.done()
        assert isinstance(await late, Ended)
        assert not first.done()
        replica.resume()
        assert isinstance(await first, Granted)


async def test_the_line_breaks_in_a_wait(pair: tuple[RedisServer, RedisServer]) -> None:
    """All who wait on it are told that nobody knows; who asks again is confirmed on a new one."""
    server, replica = pair
    async with wire_to(server) as wire:
        replica.pause()
        asked = [asyncio.ensure_future(wire.ask(claim("a"), clock.now() + 20))]
        line = await waiting(server)
        asked += [asyncio.ensure_future(wire.ask(claim(name), clock.now() + 20)) for name in "bc"]
        await asyncio.sleep(0)
        server.ask("CLIENT", "KILL", "ID", line)
        while asked:  # and nobody refers to it afterwards, so that complaints come in time
            with pytest.raises(BackendUnavailable, match="ended before the reply") as failed:
                await asked.pop()
            assert failed.value.outcome == "unknown"
            del failed
        again = [asyncio.ensure_future(wire.ask(claim(name), clock.now() + 20)) for name in "abc"]
        await waiting(server)
        assert not any(
            one.done() for one in again
        )  # found, and not believed before it is confirmed
        replica.resume()
        assert all(isinstance(one, Granted) for one in await asyncio.gather(*again))


async def test_a_silent_server_fails_each_in_its_own_time(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    """Also those who share a WAIT; then the line is given up, and the next works."""
    server, replica = pair
    async with wire_to(server) as wire:
        replica.pause()
        now = clock.now()
        first = asyncio.ensure_future(wire.ask(claim("a"), now + 2.0))
        second = asyncio.ensure_future(wire.ask(claim("b"), now + 3.0))
        await waiting(server)
        server.pause()
        with pytest.raises(BackendUnavailable):
            await first
        assert 1.9 < clock.now() - now < 2.8
        with pytest.raises(BackendUnavailable):
            await second
        server.resume()
        replica.resume()
        assert isinstance(await wire.ask(claim("c"), clock.now() + 20), Granted)


async def test_what_is_asked_together_keeps_its_order(
    pair: tuple[RedisServer, RedisServer],
) -> None:
    """Also where some of it needs replicas and some does not."""
    server, _ = pair
    get = Get("cell", "x")
    async with wire_to(server) as wire:
        for taught in (get, Swap("cell", "y", "another", b"", 0), Look("x")):
            await wire.ask(taught, clock.now() + 5)
        asked = claim("x")
        swap = Swap("cell", "x", "one", b"a", 0)
        release = Release("x", asked.claim_id)
        granted, before, swapped, after, _, seen = await wire.ask_all(
            [asked, get, swap, get, release, Look("x")], clock.now() + 20
        )
        assert isinstance(granted, Granted)
        assert isinstance(before, Entry)
        assert before.value is None
        assert isinstance(swapped, Swapped)
        assert isinstance(after, Entry)
        assert after.value == b"a"
        assert isinstance(seen, Seen)
        assert not seen.locks[0].held


async def test_who_joins_a_queue_can_be_heard(pair: tuple[RedisServer, RedisServer]) -> None:
    """The inbox is on the ordinary line: it is there though a client does nothing but claim."""
    server, _ = pair
    url = server.url(quarantine=0, replicas=1)
    with Client(url) as alice:
        lease = alice.lock("x").acquire()
        async with AsyncClient(url) as bob:
            asked = asyncio.ensure_future(bob.lock("x").acquire())
            look: Callable[[], bool] = lambda: alice.show("x").waiters == 1  # noqa: E731
            await eventually_async(look, 10, "bob in line")
            inboxes = server.ask("PUBSUB", "CHANNELS", "*")
            assert any(bob.holder.client in inbox for inbox in inboxes)
            lease.release()
            handed = await asked
            assert handed.held


@pytest.mark.parametrize("replicas, connections", [(0, 2), (1, 3)])
async def test_connections(
    pair: tuple[RedisServer, RedisServer], replicas: int, connections: int
) -> None:
    """One more where replicas are asked for, however many tasks ask, and none left when closed."""
    server, _ = pair

    def open_ones() -> int:
        lines = server.ask("CLIENT", "LIST").splitlines()
        return sum(" flags=S " not in line and " cmd=client|list " not in line for line in lines)

    await eventually_async(lambda: not open_ones(), 10, "those of the fixture to be closed")
    async with AsyncClient(server.url(quarantine=0, replicas=replicas), ttl=1) as client:
        leases = await asyncio.gather(*(client.lock(f"n-{i}").acquire() for i in range(20)))
        await eventually_async(lambda: open_ones() >= connections, 10, "the keeper")
        assert open_ones() == connections
        assert all(lease.held for lease in leases)
    await eventually_async(lambda: not open_ones(), 10, "all of them to be closed")
