"""Take and give back, each its own name: one thread, and one, a hundred, a thousand tasks."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from statistics import median

from benchmarks.figures import Aim, Figure, Value
from benchmarks.postgres import bare, peers
from benchmarks.postgres.scale import Scale
from benchmarks.redis import ours
from benchmarks.redis.ours import REUSED, AsyncWork, Work
from benchmarks.rounds import Samples, interleaved, median_ratio
from tests.servers.postgres import PostgresServer

BARE, PGBENCH, OURS = "bare statements, psycopg", "bare statements, pgbench", "holdfast"


def measure_sync(scale: Scale) -> list[Figure]:
    """Measure one thread: holdfast, the bare statements twice, and the peers, in turn."""
    with PostgresServer() as server, ExitStack() as stack:
        server.ask(bare.SET_UP)
        works: dict[str, Work] = {
            OURS: stack.enter_context(ours.working(server.url(quarantine=0)))[REUSED],
            BARE: stack.enter_context(bare.working(server)),
        }
        found = peers.installed()
        for peer, locks in found.items():
            works[peer] = stack.enter_context(peers.working(locks, server.url()))
        rivals: dict[str, Callable[[], float]] = {
            label: rate(label, work, scale.turn_for) for label, work in works.items()
        }
        rivals[PGBENCH] = lambda: bare.pgbench(server, scale.turn_for)
        rates = interleaved(rivals, scale.rounds)
        aims = {PGBENCH: 0.6}
        return [
            figure("cycle, 1 thread", rates, one, aims.get(one)) for one in rates if one != OURS
        ]


def measure_async(scale: Scale) -> list[Figure]:
    """Measure tasks: holdfast on two connections, against four with one statement per lock."""
    found: list[Figure] = []
    with PostgresServer() as server, asyncio.Runner() as loop:
        server.ask(bare.SET_UP)
        stack = AsyncExitStack()
        works = loop.run(_works(server, stack))
        for tasks in scale.tasks:
            rivals = _tasks(loop, works, tasks, scale.turn_for)
            rates = interleaved(rivals, scale.rounds)
            aims = {} if tasks == 1 else {BARE: 3.0, peers.DLOCK: 8.0}
            found += [
                figure(f"cycle, {tasks} tasks", rates, one, aims.get(one))
                for one in rates
                if one != OURS
            ]
        loop.run(stack.aclose())
    return found


def figure(what: str, rates: Samples, theirs: str, aim: float | None) -> Figure:
    """Set holdfast's rate against one of the others'."""
    return Figure(
        what=what,
        ours=Value(median(rates[OURS]), "cycles/s"),
        against=theirs,
        theirs=Value(median(rates[theirs]), "cycles/s"),
        result=Value(median_ratio(rates[OURS], rates[theirs]), "times"),
        aim=None if aim is None else Aim("at least", Value(aim, "times")),
    )


def rate(label: str, work: Work, seconds: float) -> Callable[[], float]:
    """Give what works for so long, and says how many cycles a second that were."""

    def measured() -> float:
        started_at = time.perf_counter()
        cycles = work(f"{label}:0", started_at + seconds)
        return cycles / (time.perf_counter() - started_at)

    return measured


async def _works(server: PostgresServer, stack: AsyncExitStack) -> dict[str, AsyncWork]:
    working = ours.working_async(server.url(quarantine=0))
    works = {
        OURS: (await stack.enter_async_context(working))[REUSED],
        BARE: await stack.enter_async_context(bare.working_async(server)),
    }
    if peers.DLOCK in peers.installed():
        peer = peers.dlock_working_async(server.url())
        works[peers.DLOCK] = await stack.enter_async_context(peer)
    return works


def _tasks(
    loop: asyncio.Runner, works: Mapping[str, AsyncWork], tasks: int, seconds: float
) -> Mapping[str, Callable[[], float]]:
    async def rate(label: str) -> float:
        started_at = time.perf_counter()
        until = started_at + seconds
        cycles = await asyncio.gather(
            *(works[label](f"{label}:{number}", until) for number in range(tasks))
        )
        return sum(cycles) / (time.perf_counter() - started_at)

    def rival(label: str) -> Callable[[], float]:
        return lambda: loop.run(rate(label))

    return {label: rival(label) for label in works}
