"""A lock is as good as its session: who loses the session is told, and everybody else goes on."""

import signal
import time
from functools import partial
from statistics import median

import pytest

from holdfast import Client, LockLost
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.watching import eventually, eventually_async
from tests.backends.postgres.advisory.stage import THROW_OUT, ask, held, waiting
from tests.backends.redis.stage import Room, Workers, proxied, world_at
from tests.conformance.advisory_backends import advisory_url
from tests.faults.processes import Program
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.servers.shared_postgres import shared_postgres

pytestmark = pytest.mark.anyio

TOLD_WITHIN = 0.5


def _own_url(server: PostgresServer) -> str:
    return server.url().replace("postgresql", "postgresql+advisory", 1)


def _is_long(told: list[float], enough: int) -> bool:
    return len(told) == enough


@pytest.mark.parametrize("mode", MODES)
async def test_sessions_that_are_terminated(mode: Mode) -> None:
    """pg_terminate_backend of everybody: the holder is told in half a second, a waiter goes on."""
    async with world_at(advisory_url(), mode) as world:
        alice, bob = world.party(), world.party()
        told_at: list[float] = []
        told_after = []
        for turn, name in enumerate("xyz", start=1):  # the machine may stand still once
            lease = await alice.acquire(name, ttl=30)
            lease.on_lost(lambda: told_at.append(time.monotonic()))
            pending = await world.in_line(bob, name)
            assert len(ask(THROW_OUT)) >= 3
            thrown_out_at = time.monotonic()
            await eventually_async(partial(_is_long, told_at, turn), 5.0, "the loss")
            told_after.append(told_at[-1] - thrown_out_at)
            with pytest.raises(LockLost, match=r"its session has ended.*administrator command"):
                lease.check()
            after = await pending
            assert after.token > lease.token
            if not after.held:  # it was granted between the first of the sessions to go and its own
                assert (await bob.acquire(name, wait=10)).held
        assert median(told_after) < TOLD_WITHIN


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.timeout(60)
async def test_a_server_that_is_restarted(mode: Mode) -> None:
    """Killed and started again: the holder is told at once, the waiter gets in by itself."""
    with PostgresServer() as server:
        async with world_at(_own_url(server), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x", ttl=30)
            pending = await world.in_line(bob)
            server.restart(killed=True)
            await eventually_async(lambda: lease.lost, 5.0, "the loss")
            after = await pending
            assert after.token > lease.token
            room = Room()
            workers = Workers([world.party() for _ in range(3)], room, ttl=2.0)
            await workers.go_on(20)
            await workers.stop()
            assert room.violations == []


def test_a_holder_that_is_killed() -> None:
    """Kill -9 of the holder: the next gets in at once, long before the ttl is over."""
    url = advisory_url()
    with Program("holding", how="quietly", url=url, name="killed", ttl=30) as holder:
        holder.hear()
        with Client(url) as client:
            assert client.lock("killed").try_acquire() is None
            holder.kill()
            began = time.monotonic()
            with client.lock("killed", wait=10):
                assert time.monotonic() - began < 10


def test_a_holder_that_is_paused() -> None:
    """Stopped past its ttl: the server ends its silent session, and it knows when it wakes up."""
    url = advisory_url()
    with Program("holding", how="sync", url=url, name="paused", ttl=1) as holder:
        token = holder.hear()["token"]
        holder.send(signal.SIGSTOP)
        with Client(url) as client, client.lock("paused", wait=10) as lease:
            assert lease.token > token
            holder.send(signal.SIGCONT)
            told = holder.hear()
            assert (told.get("lost"), told.get("violation")) == (True, None)
            lease.check()


@pytest.mark.parametrize("mode", MODES)
async def test_a_silent_network(mode: Mode) -> None:
    """Cut off without a word: the holder stops first, then the server ends its session."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    with Proxy(server.address) as proxy:
        async with world_at(advisory_url(), mode) as world:
            cut_off = world.client(call_limit=2)
            alice, bob = world.party(client=cut_off), world.party()
            far = Client(proxied(advisory_url(), proxy.port), prefix=world.prefix, ttl=1.5)
            lease = far.lock("x").acquire()
            pending = await world.in_line(bob)
            proxy.silence()
            believes_until = time.time() + lease.remaining
            await eventually_async(lambda: lease.lost, 5.0, "the loss")
            next_one = await pending
            assert believes_until < next_one.acquired_at
            proxy.mend()
            far.close()
            assert (await alice.acquire("y", wait=0)).held


@pytest.mark.parametrize("mode", MODES)
async def test_many_are_given_back_in_one_question(mode: Mode) -> None:
    """However far the server is: one by one they would take longer than a call may."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    with Proxy(server.address) as proxy:
        async with world_at(proxied(advisory_url(), proxy.port), mode) as world:
            alice = world.party()
            for number in range(100):
                await alice.acquire(f"n{number}", ttl=30)
            assert held() == 100
            proxy.delay(0.03)
            await alice.release_all()
            assert held() == 0
            proxy.mend()


def test_a_fork_neither_keeps_nor_ends_the_session() -> None:
    """The parent is killed while its child lives on: the lock is free at once all the same."""
    url = advisory_url()
    with Program("holding_forked", url=url, name="forked", ttl=30) as holder:
        assert holder.hear() == {"child": "has it open no more"}
        with Client(url) as client:
            assert client.lock("forked").try_acquire() is None
            holder.send(signal.SIGKILL)
            began = time.monotonic()
            with client.lock("forked", wait=10):
                assert time.monotonic() - began < 10


@pytest.mark.parametrize("mode", MODES)
async def test_nothing_is_left_of_a_claim_whose_answer_came_late(mode: Mode) -> None:
    """The server stands still during a claim: it is given back as soon as it answers again."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    async with world_at(advisory_url(), mode) as world:
        alice, bob = world.party(call_limit=1.2), world.party()
        kept = await alice.acquire("kept", ttl=30)
        server.pause()
        try:
            pending = alice.begin_acquire("x", ttl=60)
            await eventually_async(pending.done, 5.0, "the end of the call")
        finally:
            server.resume()
        with pytest.raises(Exception, match="no reply within"):
            await pending
        assert (await bob.acquire("x", wait=5)).held
        assert kept.held  # a late answer costs nobody the session
        eventually(lambda: held() == 2, 5.0, "two locks")
        assert waiting() == 0


@pytest.mark.parametrize("junk", ["junk", "[1]", "{}", '["zz", "r", false]', "null"])
def test_what_strangers_say_is_passed_by(junk: str, caplog: pytest.LogCaptureFixture) -> None:
    """Every user of the database may speak on every channel: neither call nor keeper minds."""
    with Client(advisory_url()) as client, client.lock("x") as lease:
        ask(f"SELECT pg_notify('holdfast_{client.holder.client}', '{junk}')")
        with client.lock("y", wait=0):
            lease.check()
        boss = Client(advisory_url())
        boss.break_lock("x", token=lease.token, reason="in the way")
        assert lease.wait_lost(10)  # what was said later is heard
        boss.close()
        lease._on_loss = "flag"
    assert "stumbled" not in caplog.text
