"""What a cycle on a quorum costs: CPU of the client and of all servers.

``python -m benchmarks.redlock.spent``. Time on the clock says little on a busy machine, so this
counts what the processes used. Counterpart: ``benchmarks.redis.layers``, for one server.
"""

import argparse
import asyncio
import logging
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.redis.layers import server_time
from benchmarks.redlock.run import NODES, url
from holdfast import AsyncClient
from tests.servers.redis import RedisServer, start_all


async def _cycles(client: AsyncClient, name: str, until: float) -> int:
    lock, cycles = client.lock(name), 0
    while time.perf_counter() < until:
        async with lock:
            pass
        cycles += 1
    return cycles


async def _spent(
    client: AsyncClient, servers: Sequence[RedisServer], tasks: int
) -> tuple[float, float]:
    """Let so many tasks work for a moment; give the microseconds per cycle of both sides."""
    ours_before, theirs_before = time.process_time(), sum(map(server_time, servers))
    until = time.perf_counter() + 0.3 + tasks / 2000
    cycles = sum(await asyncio.gather(*(_cycles(client, f"{n}", until) for n in range(tasks))))
    ours = time.process_time() - ours_before
    theirs = sum(map(server_time, servers)) - theirs_before
    return ours / cycles * 1e6, theirs / cycles * 1e6


async def _measure(servers: Sequence[RedisServer], tasks: int, rounds: int) -> None:
    async with AsyncClient(url(servers)) as client:
        await _spent(client, servers, tasks)  # this one warms up
        found = [await _spent(client, servers, tasks) for _ in range(rounds)]
    ours, theirs = zip(*found, strict=True)
    print(
        f"{tasks} tasks, microseconds of CPU per cycle, least (median):"
        f" client {min(ours):.1f} ({median(ours):.1f})"
        f"   {len(servers)} servers {min(theirs):.1f} ({median(theirs):.1f})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    servers = [RedisServer() for _ in range(NODES)]
    start_all(servers)
    try:
        for tasks in args.tasks:
            asyncio.run(_measure(servers, tasks, args.rounds))
    finally:
        for server in servers:
            server.close()


if __name__ == "__main__":
    main()
