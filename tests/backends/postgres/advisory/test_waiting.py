"""Waits on sessions of their own: as many as allowed, in order, and none is left behind."""

import asyncio

import pytest

from holdfast import LockBusy
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.cranks import Interrupted
from holdfast.testing.watching import eventually_async
from tests.backends.postgres.advisory.stage import LOCKS, SESSIONS, ask, held, waiting
from tests.backends.redis.stage import world_at
from tests.conformance.advisory_backends import advisory_url

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


async def test_a_wait_that_ends_leaves_no_session_waiting(mode: Mode) -> None:
    """When ``wait`` is over the server has nobody in line any more, at once."""
    async with world_at(advisory_url(), mode) as world:
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        for wait in (0.001, 0.05, 0.3):  # before it has arrived in line, too
            with pytest.raises(LockBusy):
                await bob.acquire("x", wait=wait)
            assert waiting() == 0
        assert held() == 1


async def test_a_cancelled_wait_leaves_no_session_waiting(mode: Mode) -> None:
    """Cancelled, it is out of the server's line as well."""
    if mode == "sync":
        pytest.skip("a thread is interrupted in tests/faults")
    async with world_at(advisory_url(), mode) as world:
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        pending = await world.in_line(bob)
        pending.interrupt()
        with pytest.raises(Interrupted):
            await pending
        assert (waiting(), held()) == (0, 1)


async def test_more_waits_than_sessions(mode: Mode) -> None:
    """Two may wait on the server, seven do: all are served, in order, on a few sessions."""
    async with world_at(advisory_url("waits=2"), mode) as world:
        alice, client = world.party(), world.client()
        lease = await alice.acquire("x", ttl=30)
        before = len(ask(SESSIONS))
        owners = [world.party(client=client) for _ in range(7)]
        served: list[str] = []

        async def stand_in_line(number: int) -> None:
            mine = await owners[number].acquire("x")
            served.append(owners[number].name)
            await owners[number].release(mine)

        crowd = [asyncio.ensure_future(stand_in_line(number)) for number in range(7)]
        try:
            await eventually_async(lambda: waiting() == 2, 10.0, "two in line")
            assert len(ask(SESSIONS)) <= before + 3
            other = world.party(client=client)
            assert (await other.acquire("y", wait=0)).held  # who waits holds up nobody else
        finally:
            await alice.release(lease)
            await asyncio.gather(*crowd)
        assert len(served) == 7


async def test_many_locks_on_one_session(mode: Mode) -> None:
    """A hundred locks that were free use one session."""
    async with world_at(advisory_url(), mode) as world:
        alice = world.party()
        for number in range(100):
            await alice.acquire(f"n{number}")
        assert len({pid for pid, _ in ask(LOCKS)}) == 1


async def test_readers_of_one_client_do_not_pass_a_writer(mode: Mode) -> None:
    """Though PostgreSQL would let the session in again that has it shared already."""
    async with world_at(advisory_url(), mode) as world:
        client = world.client()
        first, second = world.party(client=client), world.party(client=client)
        writer = world.party()
        lease = await first.take(client.rwlock("x").read())
        again = await second.take(client.rwlock("x").read())
        assert len({pid for pid, _ in ask(LOCKS)}) == 1
        await second.release(again)
        pending = await world.in_line(writer, at=writer.client.rwlock("x").write())
        with pytest.raises(LockBusy):
            await second.take(client.rwlock("x").read(wait=0))
        await first.release(lease)
        assert (await pending).held
