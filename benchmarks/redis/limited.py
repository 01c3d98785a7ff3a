"""Taking permits of a shared rate, each caller its own name: holdfast against ``limits``.

``limits`` is used the way its documentation shows it, with two of its strategies. The moving window
is exact, as holdfast is: like is compared with like there, but for what a caller is told (``hit``
says yes or no, holdfast also when to come again and how many are left) and for lost replies (who
asks ``limits`` again is counted again). The fixed window is its quickest: one counter, which lets
twice the rate through where two windows meet. It is shown as the least that ``limits`` can cost.

The rate is so high that nobody is ever refused, and so slow to come back that something is owed all
the time, as in a limit that is in use: an empty bucket would cost holdfast less.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from statistics import median

import limits
import limits.aio

import holdfast
from benchmarks.figures import Figure, Value
from benchmarks.redis.cycle_figures import at_least
from benchmarks.redis.peers import CONNECTIONS
from benchmarks.redis.placement import placed, placements
from benchmarks.redis.scale import Scale
from benchmarks.rounds import Samples, interleaved, median_ratio
from tests.servers.redis import RedisServer

OURS, FIXED = "holdfast", "limits, fixed window (inexact)"
MOVING = "limits, moving window"
RATE = 1_000_000

Work = Callable[[str, float], int]
"""Take permits under a name until a moment of ``perf_counter``; give how many those were."""

AsyncWork = Callable[[str, float], Awaitable[int]]


def measure(scale: Scale) -> list[Figure]:
    """Measure threads, then tasks."""
    found = []
    with RedisServer() as server:
        with ExitStack() as stack:
            works = working(server, stack)
            for threads in scale.threads:
                rivals = {
                    label: _by_threads(label, work, threads, scale) for label, work in works.items()
                }
                what = f"permit, {threads} thread{'s' * (threads > 1)}"
                found += _placed(what, threads, server, rivals, scale, 3)
        with asyncio.Runner() as loop:
            closing = AsyncExitStack()
            async_works = loop.run(working_async(server, closing))
            for tasks in scale.tasks[:2]:
                rivals = {
                    label: _by_tasks(loop, label, work, tasks, scale)
                    for label, work in async_works.items()
                }
                what = f"permit, {tasks} task{'s' * (tasks > 1)}"
                found += _placed(what, tasks, server, rivals, scale, 10 if tasks > 1 else None)
            loop.run(closing.aclose())
    return found


def working(server: RedisServer, stack: ExitStack) -> dict[str, Work]:
    """Give all three ways of taking permits, for threads."""
    client = stack.enter_context(holdfast.Client(server.url(quarantine=0)))
    storage = limits.storage.RedisStorage(server.url(), max_connections=CONNECTIONS)
    item = limits.RateLimitItemPerHour(RATE)

    def ours(name: str, until: float) -> int:
        limiter = client.limiter(name, f"{RATE}/h")
        taken = 0
        while time.perf_counter() < until:
            taken += limiter.try_acquire().allowed
        return taken

    def theirs(strategy: limits.strategies.RateLimiter) -> Work:
        def work(name: str, until: float) -> int:
            taken = 0
            while time.perf_counter() < until:
                taken += strategy.hit(item, name)
            return taken

        return work

    return {
        OURS: ours,
        FIXED: theirs(limits.strategies.FixedWindowRateLimiter(storage)),
        MOVING: theirs(limits.strategies.MovingWindowRateLimiter(storage)),
    }


async def working_async(server: RedisServer, stack: AsyncExitStack) -> dict[str, AsyncWork]:
    """Give all three ways of taking permits, for tasks."""
    client = await stack.enter_async_context(holdfast.AsyncClient(server.url(quarantine=0)))
    storage = limits.aio.storage.RedisStorage(
        f"async+{server.url()}", implementation="redispy", max_connections=CONNECTIONS
    )
    item = limits.RateLimitItemPerHour(RATE)

    async def ours(name: str, until: float) -> int:
        limiter = client.limiter(name, f"{RATE}/h")
        taken = 0
        while time.perf_counter() < until:
            taken += (await limiter.try_acquire()).allowed
        return taken

    def theirs(strategy: limits.aio.strategies.RateLimiter) -> AsyncWork:
        async def work(name: str, until: float) -> int:
            taken = 0
            while time.perf_counter() < until:
                taken += await strategy.hit(item, name)
            return taken

        return work

    return {
        OURS: ours,
        FIXED: theirs(limits.aio.strategies.FixedWindowRateLimiter(storage)),
        MOVING: theirs(limits.aio.strategies.MovingWindowRateLimiter(storage)),
    }


def _by_threads(label: str, work: Work, threads: int, scale: Scale) -> Callable[[], float]:
    def rate() -> float:
        taken: list[int] = []
        started_at = time.perf_counter()

        def one(number: int) -> None:
            taken.append(work(f"{label} {number}", started_at + scale.turn_for))

        workers = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if len(taken) < threads:
            raise RuntimeError(f"{threads - len(taken)} threads failed")
        return sum(taken) / (time.perf_counter() - started_at)

    return rate


def _by_tasks(
    loop: asyncio.Runner, label: str, work: AsyncWork, tasks: int, scale: Scale
) -> Callable[[], float]:
    async def rate() -> float:
        started_at = time.perf_counter()
        until = started_at + scale.turn_for
        taken = await asyncio.gather(*(work(f"{label} {number}", until) for number in range(tasks)))
        return sum(taken) / (time.perf_counter() - started_at)

    return lambda: loop.run(rate())


def _placed(
    what: str,
    callers: int,
    server: RedisServer,
    rivals: Mapping[str, Callable[[], float]],
    scale: Scale,
    aim: float | None,
) -> list[Figure]:
    """Let them take turns, wherever so many callers are measured."""
    found = []
    for where in placements(callers):
        with placed(where, server.pid):
            rates = interleaved(rivals, scale.rounds)
        title = what if where == "free" else f"{what} ({where})"
        # On two cores a call is mostly waking up, for everybody.
        found += _figures(title, rates, None if where == "two cores" else aim)
    return found


def _figures(what: str, rates: Samples, aim: float | None) -> list[Figure]:
    return [
        Figure(
            what=what,
            ours=Value(median(rates[OURS]), "cycles/s"),
            against=theirs,
            theirs=Value(median(rates[theirs]), "cycles/s"),
            result=Value(median_ratio(rates[OURS], rates[theirs]), "times"),
            aim=at_least(aim),
        )
        for theirs in (FIXED, MOVING)
    ]
