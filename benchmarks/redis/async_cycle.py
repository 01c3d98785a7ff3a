"""Take and give back from asyncio, each task its own name: one task, a hundred, a thousand."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from benchmarks.figures import Figure
from benchmarks.redis import bare_async, ours, peers
from benchmarks.redis.cycle_figures import BARE, figures
from benchmarks.redis.ours import AsyncWork
from benchmarks.redis.placement import placed, placements
from benchmarks.redis.scale import Scale
from benchmarks.rounds import interleaved
from tests.servers.redis import RedisServer


def measure(scale: Scale) -> list[Figure]:
    """Measure holdfast, the bare wire and the peers in turn, for each number of tasks."""
    found = []
    with RedisServer() as server, asyncio.Runner() as loop:
        stack = AsyncExitStack()
        works = loop.run(_works(server, stack))
        for tasks in scale.tasks:
            for where in placements(tasks):
                with placed(where, server.pid):
                    rates = interleaved(_rivals(loop, works, tasks, scale.turn_for), scale.rounds)
                what = f"cycle, {tasks} task{'s' * (tasks > 1)}"
                title = what if where == "free" else f"{what} ({where})"
                found += figures(title, rates, _aims(tasks))
        loop.run(stack.aclose())
    return found


def _aims(tasks: int) -> Mapping[str, float]:
    if tasks == 1:
        return {BARE: 0.85}
    return {BARE: 0.70 if tasks < 1000 else 0.60, peers.REDIS_PY: 10}


async def _works(server: RedisServer, stack: AsyncExitStack) -> dict[str, AsyncWork]:
    works: dict[str, AsyncWork] = {
        **await stack.enter_async_context(ours.working_async(server.url(quarantine=0))),
        BARE: await stack.enter_async_context(bare_async.bare(server.port)),
    }
    for peer, locks in peers.ASYNC_PEERS.items():
        works[peer] = await stack.enter_async_context(peers.working_async(locks, server.port))
    return works


def _rivals(
    loop: asyncio.Runner, works: Mapping[str, AsyncWork], tasks: int, seconds: float
) -> Mapping[str, Callable[[], float]]:
    def rival(label: str, work: AsyncWork) -> Callable[[], float]:
        return lambda: loop.run(_rate(work, label, tasks, seconds))

    return {label: rival(label, work) for label, work in works.items()}


async def _rate(work: AsyncWork, label: str, tasks: int, seconds: float) -> float:
    """Let so many tasks work at the same time; give the cycles a second of all together."""
    started_at = time.perf_counter()
    works = (work(f"{label}:{number}", started_at + seconds) for number in range(tasks))
    cycles = sum(await asyncio.gather(*works))
    return cycles / (time.perf_counter() - started_at)
