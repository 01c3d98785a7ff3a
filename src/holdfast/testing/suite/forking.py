"""After ``fork()`` the child holds nothing and works for itself; the parent notices nothing."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import AsyncClient, LockLost
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

Report = dict[str, Any]


async def in_child(party: Party, probe: Callable[[], Any]) -> Report:
    """Fork in the party's own thread or task, and give what ``probe`` reports from the child."""
    reading, writing = os.pipe()
    pid = await party.do(lambda: _fork(writing, probe))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = await asyncio.to_thread(pipe.read)
    await asyncio.to_thread(os.waitpid, pid, 0)
    report: Report = json.loads(text)
    assert "failure" not in report, report["failure"]
    return report


def _fork(writing: int, probe: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        try:
            found = probe()
            report = asyncio.run(found) if asyncio.iscoroutine(found) else found
        except BaseException as error:  # noqa: BLE001 - nothing may escape into the parent's test
            report = {"failure": repr(error)}
        os.write(writing, json.dumps(report).encode())
    finally:
        os._exit(0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
class TestForking:
    """A process and its child."""

    pytestmark = pytest.mark.anyio

    async def test_the_child_holds_nothing(self, world: World) -> None:
        """In the child the parent's lease is lost, and says why."""
        alice = world.party()
        lease = await alice.acquire("x")

        def probe() -> Report:
            try:
                lease.check()
            except LockLost as error:
                return {"held": lease.held, "lost": lease.lost, "reason": error.reason}
            return {"held": lease.held}

        report = await in_child(alice, probe)
        assert (report["held"], report["lost"]) == (False, True)
        assert "fork" in report["reason"]

    async def test_the_parent_goes_on(self, world: World) -> None:
        """The parent's leases are renewed and its bodies end normally, whatever the child does."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x", ttl=world.steady)

        def probe() -> Any:
            if world.mode == "sync":
                lease.release() if lease.held else None
                return {}
            return _release(lease)

        await in_child(alice, probe)
        await world.until_renewed(lease)
        assert lease.held
        assert await bob.try_acquire("x") is None
        await alice.release(lease)

    async def test_a_body_in_the_parent_ends_normally(self, world: World) -> None:
        """A ``with`` that was entered before the fork is left in the parent without an error."""
        alice = world.party()
        twin = world.party(client=alice.client)
        stay = await alice.enter("x", ttl=world.steady)
        report = await in_child(twin, lambda: {"held": stay.lease.held})
        assert report == {"held": False}
        await world.until_renewed(stay.lease)
        await stay.leave()

    async def test_the_child_is_another_client(self, world: World) -> None:
        """The child has an identity of its own, and its own places in queues."""
        alice = world.party("same label")
        await alice.acquire("x")
        report = await in_child(
            alice, lambda: {"client": alice.client.holder.client, "pid": alice.client.holder.pid}
        )
        assert report["client"] != alice.client.holder.client
        assert report["pid"] != alice.client.holder.pid

    async def test_the_child_can_work_for_itself(self, world: World) -> None:
        """The inherited client can be used in the child, sync or async."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.steady)

        def probe() -> Any:
            return _work(alice) if isinstance(alice.client, AsyncClient) else _work_sync(alice)

        report = await in_child(alice, probe)
        assert report["token"] > 0
        assert report["renewed"]
        assert report["free_after"]
        if world.capabilities.scope != "process":
            assert report["x_is_busy"]
        assert lease.held
        assert await alice.locks("y") == []

    async def test_the_child_may_stay_longer_than_the_parent(self, world: World) -> None:
        """What the child holds stays held when the parent has closed its client."""
        if world.capabilities.scope == "process":
            pytest.skip("parent and child share nothing on this backend")
        alice, bob = world.party(), world.party()
        await alice.release(await alice.acquire("warm"))
        ready, go = os.pipe(), os.pipe()

        def probe() -> Any:
            os.close(go[1])
            return _outlive(world, alice, ready[1], go[0])

        report = asyncio.ensure_future(in_child(alice, probe))
        await asyncio.to_thread(os.read, ready[0], 1)
        await alice.close()
        await bob.close()
        carol = world.party()
        got_in = await carol.try_acquire("y")
        await world.pass_time(1.1 * world.steady)
        got_in = got_in or await carol.try_acquire("y")
        os.close(go[1])
        said = await report
        for descriptor in (*ready, go[0]):
            os.close(descriptor)
        assert said == {"held": True}
        assert got_in is None
        await eventually_async(lambda: _free(carol), 5.0, "the child's lock released")


async def _free(party: Party) -> bool:
    return not (await party.show("y")).held


async def _release(lease: Any) -> Report:
    if lease.held:
        await lease.release()
    return {}


def _work_sync(alice: Party) -> Report:
    client: Any = alice.client
    with client.lock("y", renew=False, ttl=5) as mine:
        token = mine.token
        busy = client.lock("x").try_acquire() is None
        renewed = not mine.wait_lost(0.9)
    seen = client.show("y")
    client.close()
    return {"token": token, "x_is_busy": busy, "renewed": renewed, "free_after": not seen.held}


async def _work(alice: Party) -> Report:
    client: Any = alice.client
    async with client.lock("y", renew=False, ttl=5) as mine:
        token = mine.token
        busy = await client.lock("x").try_acquire() is None
        renewed = not await mine.wait_lost(0.9)
    seen = await client.show("y")
    await client.close()
    return {"token": token, "x_is_busy": busy, "renewed": renewed, "free_after": not seen.held}


def _outlive(world: World, alice: Party, ready: int, go: int) -> Any:
    client: Any = alice.client
    terms = {"ttl": world.steady, "on_loss": "flag"}

    def wait() -> None:
        os.write(ready, b"!")
        os.read(go, 1)

    async def in_task() -> Report:
        async with client, client.lock("y", **terms) as lease:
            await asyncio.to_thread(wait)
            return {"held": lease.held}

    def in_thread() -> Report:
        with client, client.lock("y", **terms) as lease:
            wait()
            return {"held": lease.held}

    return in_task() if isinstance(client, AsyncClient) else in_thread()
