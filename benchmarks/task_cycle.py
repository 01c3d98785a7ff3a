"""Take and give back from asyncio, one task and a hundred, each with a name of its own."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import holdfast
from benchmarks import bare
from benchmarks.figures import Figure, Value
from benchmarks.rounds import interleaved, median_ratio, per_second
from benchmarks.scale import Scale

MANY = 100
BARE = "bare"


def measure(scale: Scale) -> list[Figure]:
    """Measure one task and many against the bare pair of one thread."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, asyncio.Runner() as loop:
        client = loop.run(_opened(f"sqlite:///{folder}/ours.db"))
        pair = bare.bare_pair(bare.overhear(Path(folder) / "bare.db"))
        rivals: dict[str, Callable[[], float]] = {
            "1 task": lambda: loop.run(_rate(client, 1, scale.turn_for)),
            f"{MANY} tasks": lambda: loop.run(_rate(client, MANY, scale.turn_for)),
            BARE: lambda: per_second(pair, scale.turn_for),
        }
        rates = interleaved(rivals, scale.rounds)
        loop.run(client.close())
    return [
        Figure(
            what=f"sqlite lock cycle, async, {tasks}",
            ours=Value(median(rates[tasks]), "cycles/s"),
            against="begin, read, write, commit",
            theirs=Value(median(rates[BARE]), "cycles/s"),
            result=Value(median_ratio(rates[tasks], rates[BARE]), "times"),
        )
        for tasks in rates
        if tasks != BARE
    ]


async def _opened(url: str) -> holdfast.AsyncClient:
    return holdfast.AsyncClient(url)


async def _rate(client: holdfast.AsyncClient, tasks: int, seconds: float) -> float:
    started_at = time.perf_counter()
    works = [_work(client.lock(f"bench:{n}"), started_at + seconds) for n in range(tasks)]
    cycles = sum(await asyncio.gather(*works))
    return cycles / (time.perf_counter() - started_at)


async def _work(lock: holdfast.AsyncLock, until: float) -> int:
    cycles = 0
    while time.perf_counter() < until:
        async with lock:
            cycles += 1
    return cycles
