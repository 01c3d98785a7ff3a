"""Cancellations and interruptions at random moments: no lock is left behind."""

import asyncio
import random
import sqlite3
from pathlib import Path

import pytest

from holdfast import AsyncClient, Client
from holdfast.testing.watching import eventually, eventually_async
from tests.faults.processes import Program


@pytest.mark.timeout(60)
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_a_thousand_cancelled_attempts_leave_nothing(tmp_path: Path, backend: str) -> None:
    """Acquire attempts that are cancelled at random moments hold nothing afterwards."""
    url = f"sqlite:///{tmp_path / 'locks.db'}" if backend == "sqlite" else f"memory://{tmp_path}"
    dice = random.Random(1)
    async with AsyncClient(url, ttl=60) as client, AsyncClient(url, ttl=60) as rival:
        lock = client.lock("x")

        async def attempt() -> None:
            async with lock:
                await asyncio.sleep(dice.uniform(0, 0.0005))

        async def compete() -> None:
            while True:
                async with rival.lock("x"):
                    await asyncio.sleep(0.0002)

        competition = asyncio.create_task(compete())
        outcomes = {"cancelled": 0, "done": 0}
        for _ in range(100):
            attempts = [asyncio.create_task(attempt()) for _ in range(10)]
            for task in dice.sample(attempts, 10):
                for _ in range(dice.randrange(4)):
                    await asyncio.sleep(0)
                await asyncio.sleep(dice.uniform(0, 0.001))
                task.cancel()
            await asyncio.wait(attempts)
            for task in attempts:
                if not task.cancelled():
                    task.result()
                outcomes["cancelled" if task.cancelled() else "done"] += 1
        competition.cancel()
        await asyncio.wait([competition])
        assert outcomes["cancelled"] > 300

        async def free() -> bool:  # what was cancelled while releasing is released soon after
            seen = await rival.show("x")
            return not seen.held and not seen.waiters

        await eventually_async(free, 8.0, "a free name")
        async with lock as lease:  # and the object is as good as new
            assert lease.held
        book = client._engine.book
        assert [*book.leases, *book.tickets, *book.owned] == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_interrupted_threads_leave_nothing(tmp_path: Path, seed: int) -> None:
    """Ctrl-C at hundreds of random moments: nothing is held and the file is not locked."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    with Program("interrupted", url=url, seed=seed, times=500, stay=30) as victim:
        said = victim.hear(18)
        assert said["trouble"] == ""
        assert (said["interrupted"], said["keepers"]) == (500, 1)
        with sqlite3.connect(file, timeout=1, isolation_level=None) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        connection.close()
        with Client(url) as client:
            eventually(lambda: not client.show("x").held, 3.0, "a free name")
            with client.lock("x", wait=3):
                pass
