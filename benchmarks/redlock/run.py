"""Measure holdfast on a quorum: ``make bench-redlock``, or ``python -m benchmarks.redlock.run``.

Five servers of its own on this host. Every figure stands beside what it is set against, measured in
the same run, in turn. A missed aim is said in the table and is no failure.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from statistics import median

from benchmarks import figures
from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.peers import AsyncLock, Lock
from benchmarks.redlock import peers
from benchmarks.rounds import interleaved, median_ratio, per_second, percentile
from holdfast import AsyncClient, Client
from tests.servers.redis import RedisServer, start_all

NODES = 5
TASKS = 100
OURS, SINGLE = "holdfast", "holdfast on one server"


def main() -> int:
    """Measure everything and show it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redlock.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    turn_for, rounds = (0.1, 2) if args.quick else (0.5, 7)
    servers = [RedisServer() for _ in range(NODES)]
    start_all(servers)
    try:
        found = [
            *one_caller(servers, turn_for, rounds),
            *asyncio.run(many_tasks(servers, turn_for, rounds)),
            *stalled(servers, 100 if args.quick else 1500),
        ]
    finally:
        for server in servers:
            server.close()
    sys.stdout.write(f"{figures.table(found)}\n")
    if figures.is_busy():
        sys.stdout.write("this machine does other work too: trust the ratios\n")
    missing = [*peers.MISSING, *(f"{peer} ({why})" for peer, why in peers.NEVER.items())]
    sys.stdout.write(f"left out: {', '.join(missing)}\n")
    return 0


def url(servers: Sequence[RedisServer]) -> str:
    """Give the URL of the quorum."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"redlock://{hosts}?quarantine=0"


def one_caller(servers: Sequence[RedisServer], turn_for: float, rounds: int) -> list[Figure]:
    """Take and give back, one after the other: against one server, and against the peers."""
    ports = [server.port for server in servers]
    with ExitStack() as stack:
        many = stack.enter_context(Client(url(servers)))
        single = stack.enter_context(Client(servers[0].url(quarantine=0)))
        locks: dict[str, Callable[[str], Lock]] = {OURS: many.lock, SINGLE: single.lock}
        for peer, opened in peers.SYNC.items():
            locks[peer] = stack.enter_context(opened(ports))

        def rival(label: str) -> Callable[[], float]:
            def cycle() -> None:
                with locks[label](f"{label}:cycle"):
                    pass

            return lambda: per_second(cycle, turn_for)

        rates = interleaved({label: rival(label) for label in locks}, rounds)
    times = 1 / median_ratio(rates[OURS], rates[SINGLE])
    found = [_rate("cycle on 5 servers, 1 caller", rates, SINGLE, times, Aim("at most", _x(5)))]
    for peer in peers.SYNC:
        ratio = median_ratio(rates[OURS], rates[peer])
        found.append(_rate("the same", rates, peer, ratio, Aim("at least", _x(2))))
    return found


async def many_tasks(servers: Sequence[RedisServer], turn_for: float, rounds: int) -> list[Figure]:
    """Take and give back with many tasks, each its own name."""
    ports = [server.port for server in servers]
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncClient(url(servers)))
        locks: dict[str, Callable[[str], AsyncLock]] = {OURS: client.lock}
        for peer, opened in peers.ASYNC.items():
            locks[peer] = await stack.enter_async_context(opened(ports))
        rates: dict[str, list[float]] = {label: [] for label in locks}
        for round_ in range(rounds + 1):
            for label, lock in locks.items():
                rate = await _tasks_per_second(lock, label, turn_for)
                if round_:
                    rates[label].append(rate)
    return [
        _rate(
            f"cycle on 5 servers, {TASKS} tasks",
            rates,
            peer,
            median_ratio(rates[OURS], rates[peer]),
            Aim("at least", _x(5)),
        )
        for peer in peers.ASYNC
    ]


async def _tasks_per_second(lock: Callable[[str], AsyncLock], label: str, seconds: float) -> float:
    started_at = time.perf_counter()
    cycles = 0

    async def work(number: int) -> None:
        nonlocal cycles
        while time.perf_counter() < started_at + seconds:
            async with lock(f"{label}:{number}"):
                pass
            cycles += 1

    tasks: list[Awaitable[None]] = [work(number) for number in range(TASKS)]
    await asyncio.gather(*tasks)
    return cycles / (time.perf_counter() - started_at)


def stalled(servers: Sequence[RedisServer], cycles: int) -> list[Figure]:
    """Take and give back with one server stopped, against all of them well."""
    with Client(url(servers)) as client:

        def spans() -> list[float]:
            found = []
            for _ in range(cycles):
                began = time.perf_counter()
                with client.lock("stalled"):
                    pass
                found.append(time.perf_counter() - began)
            return found

        spans()
        well = spans()
        servers[-1].pause()
        try:
            hurt = spans()
        finally:
            servers[-1].resume()
    found = []
    for what, of, limit in (
        ("p50, one server stopped", median, 1.2),
        ("p99, one server stopped", lambda one: percentile(one, 99), 2.0),
    ):
        ours, theirs = of(hurt), of(well)
        found.append(
            Figure(
                what=what,
                ours=Value(ours, "s"),
                against="all of them well",
                theirs=Value(theirs, "s"),
                result=_x(ours / theirs),
                aim=Aim("at most", _x(limit)),
            )
        )
    return found


def _rate(
    what: str, rates: Mapping[str, Sequence[float]], against: str, result: float, aim: Aim
) -> Figure:
    return Figure(
        what=what,
        ours=Value(median(rates[OURS]), "cycles/s"),
        against=against,
        theirs=Value(median(rates[against]), "cycles/s"),
        result=_x(result),
        aim=aim,
    )


def _x(number: float) -> Value:
    return Value(number, "times")


if __name__ == "__main__":
    sys.exit(main())
