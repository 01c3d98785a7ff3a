"""Holders that are paused or busy: stopped processes are told, blocked loops keep their lease."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from holdfast import AsyncClient, Client
from holdfast.testing.watching import eventually
from tests.faults.processes import Program

TTL = 0.6


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_stopped_holder_is_told_when_it_wakes(tmp_path: Path, how: str) -> None:
    """Paused past its ttl: the rival gets in, the holder is told at once, its token is smaller."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Program("holding", url=url, name="x", ttl=TTL, how=how) as holder, Client(url) as client:
        token = holder.hear()["token"]
        holder.send(signal.SIGSTOP)
        with client.lock("x", wait=10) as rival:
            assert rival.token > token
            holder.send(signal.SIGCONT)
            said = holder.hear()
            assert said.get("lost"), said
            assert said["token"] == token
            assert holder.ended() == 0
            if how == "async":
                assert said["cancelled"]
            rival.check()
        assert client.locks() == []


def test_a_stopped_waiter_blocks_nobody_for_long(tmp_path: Path) -> None:
    """A paused process in the queue is passed over after its patience of three seconds."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Client(url) as client, Client(url) as other:
        held = client.lock("x").acquire()
        with Program("holding", url=url, name="x", ttl=TTL, how="sync") as waiter:
            eventually(lambda: client.show("x").waiters == 1, what="the waiter in line")
            waiter.send(signal.SIGSTOP)
            held.release()
            began = time.monotonic()
            with other.lock("x", wait=10):
                assert time.monotonic() - began < 5


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_blocked_event_loop_keeps_its_lease(tmp_path: Path, backend: str) -> None:
    """The loop does nothing for longer than the ttl, and the lease is still held."""
    url = f"sqlite:///{tmp_path / 'locks.db'}" if backend == "sqlite" else f"memory://{tmp_path}"

    async def body() -> None:
        async with AsyncClient(url) as client, client.lock("x", ttl=3) as lease:
            time.sleep(4.5)  # noqa: ASYNC251 - that is the point
            assert lease.held
            with Client(url) as rival:
                assert rival.lock("x").try_acquire() is None
            await asyncio.sleep(0)
            lease.check()

    asyncio.run(body())
