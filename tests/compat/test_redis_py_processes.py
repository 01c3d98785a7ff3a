"""Processes that die or fork, and loops that end: nobody waits for what is gone."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

from holdfast.compat.redis_py import AsyncLock
from holdfast.testing.watching import eventually, eventually_async
from tests.compat.lab import Lab, Waiter
from tests.servers.redis import RedisServer

ROOT = Path(__file__).parent.parent.parent
SOON = 4.0
"""Well below what waiting for the end of a place would take."""

WAITER = """
import sys, redis
from holdfast.compat.redis_py import Lock
client = redis.Redis(port=int(sys.argv[1]))
lock = client.lock(sys.argv[2], lock_class=Lock, timeout=float(sys.argv[3]) or None)
lock.acquire()
print("got it", flush=True)
sys.stdin.read()
"""


def process(lab: Lab, timeout: float = 0) -> "subprocess.Popen[str]":
    """Start a process that acquires the lab's lock and keeps it."""
    command = [sys.executable, "-c", WAITER, str(lab.server.port), lab.name, str(timeout)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


async def test_a_process_that_dies_in_line_is_passed_over(server: RedisServer) -> None:
    """Its place does not outlive it for long."""
    lab = Lab(server, "sync")
    holder = lab.lock()
    assert holder.acquire()
    with process(lab) as dying:
        await eventually_async(lambda: lab.line().waiters == 1, 10)
        waiter = await Waiter(lab).in_line(2)
        dying.kill()
        dying.communicate()
    killed_at = time.monotonic()
    holder.release()
    assert await waiter.served() - killed_at < 4
    lab.client.close()


async def test_a_process_that_dies_with_the_lock_blocks_until_its_timeout(
    server: RedisServer,
) -> None:
    """Line and key end together; deleted by hand, the key is free as soon as the place is."""
    lab = Lab(server, "sync")
    for by_hand in (False, True):
        with process(lab, timeout=2) as dying:
            assert dying.stdout is not None
            assert dying.stdout.readline() == "got it\n"
            taken_at = time.monotonic()
            waiter = await Waiter(lab).in_line()
            dying.kill()
            dying.communicate()
        if by_hand:
            lab.ask("DEL", lab.name)
        assert await waiter.served() - taken_at < 2 + SOON
    lab.client.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_can_release_and_acquire(server: RedisServer) -> None:
    """As in redis-py the child has the token; it passes the line on, and takes its own turn."""
    lab = Lab(server, "sync")
    lock = lab.lock()
    assert lock.acquire()
    assert not lab.lock().acquire(blocking_timeout=0.15)  # the keeper is at work
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            lock.release()
            again = lab.lock(timeout=20)
            report = {"again": again.acquire(blocking_timeout=5)}
            again.release()
        except BaseException as error:  # noqa: BLE001 - nothing may escape into the parent's test
            report = {"failure": repr(error)}
        os.write(writing, json.dumps(report).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert json.loads(pipe.read()) == {"again": True}
    os.waitpid(pid, 0)
    assert not lab.line().held
    assert lab.lock().acquire(blocking_timeout=5)
    lab.client.close()


def test_a_loop_takes_its_connections_along(server: RedisServer) -> None:
    """One client used from one loop after the other leaves nothing behind but what is its own."""

    def connections() -> int:
        return len(server.ask("CLIENT", "LIST").splitlines())

    async def use(name: str) -> None:
        client = redis.asyncio.Redis(port=server.port)
        async with client.lock(name, lock_class=AsyncLock):
            second = client.lock(name, lock_class=AsyncLock)
            assert not await second.acquire(blocking_timeout=0.15)
        await client.aclose()
        kept.append(client)  # it lives on, as a global one would

    kept: list[Any] = []
    before = connections()
    for number in range(2):
        asyncio.run(use(f"key:loop-{number}"))
    eventually(lambda: connections() <= before, 5, "the end of the connections")


async def test_a_second_loop_gets_its_own_line(server: RedisServer) -> None:
    """A client that survives its loop can be used on the next."""
    client = redis.asyncio.Redis(port=server.port)

    async def use() -> bool:
        async with client.lock("key:two-loops", lock_class=AsyncLock):
            pass
        await client.aclose()
        return True

    for _ in range(2):
        assert await asyncio.to_thread(lambda: asyncio.run(use()))
