"""Where the time of an async cycle goes: CPU per cycle on both sides, layer by layer.

``python -m benchmarks.redis.layers``. Time on the clock says little on a busy machine, so this
counts what both processes used. Each layer stands on those before it: the bare wire with its own
pair of commands; the same wire with the commands of holdfast's scripts, each alone; the backend's
wire, which merges them and reads the replies; the lock itself. Counterpart: ``thread_layers``.
"""

import argparse
import asyncio
import logging
import os
import time
from binascii import b2a_base64
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from statistics import median

from benchmarks.redis import bare_async, ours
from benchmarks.redis.ours import AsyncWork
from holdfast import clock
from holdfast.backends.redis.backend import connect
from holdfast.backends.redis.requests import Post, command
from holdfast.backends.redis.scripts import script
from holdfast.rules.messages import Claim, Granted, Release, Want
from holdfast.settings import address
from holdfast.values import Holder
from tests.servers.redis import RedisServer

HOLDER = Holder("0123456789abcdef", "host", 1)
WANT = Want("lock", 1, 1, 10.0)


def _claim_ids() -> Iterator[str]:
    """Draw ids like those of clients: among alike ones the server searches for longer."""
    while True:
        drawn = b2a_base64(os.urandom(12 * 256), newline=False).decode()
        yield from (drawn[at : at + 16] for at in range(0, len(drawn), 16))


def requests(name: str, until: float) -> Iterator[tuple[Claim, Release]]:
    """Give both requests of a cycle, until that moment."""
    for claim_id in _claim_ids():
        if time.perf_counter() >= until:
            return
        claim = Claim(name, claim_id, WANT, HOLDER, "holdfast:inbox:nobody", 3.0)
        yield claim, Release(name, claim_id)


@asynccontextmanager
async def _works(server: RedisServer) -> AsyncIterator[Mapping[str, AsyncWork]]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(bare_async.Protocol, *server.address)
    post = Post("layers", 0.0, clustered=False)
    for name in ("claim", "end"):
        await protocol.ask(command("SCRIPT", "LOAD", script(name).body))
    url = server.url(quarantine=0)
    wire = connect(address(url), "layers").aio_wire(HOLDER)

    async def scripts(name: str, until: float) -> int:
        cycles = 0
        for claim, release in requests(name, until):
            await protocol.ask(post.letter(claim).data)
            await protocol.ask(post.letter(release).data)
            cycles += 1
        return cycles

    async def merged(name: str, until: float) -> int:
        cycles = 0
        for claim, release in requests(name, until):
            if not isinstance(await wire.ask(claim, clock.now() + 5), Granted):
                raise RuntimeError(f"somebody else had {name!r}")  # noqa: TRY004 - no wrong type
            await wire.ask(release, clock.now() + 5)
            cycles += 1
        return cycles

    async with bare_async.bare(server.port) as bare, ours.working_async(url) as locks:
        yield {"bare pair": bare, "scripts": scripts, "wire": merged, "lock": locks[ours.REUSED]}
    wire.close()
    transport.close()


def server_time(server: RedisServer) -> float:
    """Give the seconds that the server has worked."""
    lines = str(server.ask("INFO", "cpu")).split()
    return sum(
        float(line.split(":")[1])
        for line in lines
        if line.startswith(("used_cpu_sys:", "used_cpu_user:"))
    )


async def spent_by_tasks(
    server: RedisServer, work: AsyncWork, label: str, tasks: int
) -> tuple[float, float]:
    """Let so many tasks work for a moment; give the microseconds per cycle of both sides."""
    ours_before, theirs_before = time.process_time(), server_time(server)
    until = time.perf_counter() + 0.1 + tasks / 5000
    cycles = sum(await asyncio.gather(*(work(f"{label}:{one}", until) for one in range(tasks))))
    ours_after, theirs_after = time.process_time(), server_time(server)
    return (
        (ours_after - ours_before) / cycles * 1e6,
        (theirs_after - theirs_before) / cycles * 1e6,
    )


async def _measure(tasks: int, rounds: int) -> None:
    spent: dict[str, list[tuple[float, float]]] = {}
    with RedisServer() as server:
        async with _works(server) as works:
            for _ in range(rounds + 1):
                for label, work in works.items():
                    found = await spent_by_tasks(server, work, label, tasks)
                    spent.setdefault(label, []).append(found)
    print(f"{tasks} tasks, microseconds of CPU per cycle: least (median)")
    for label, all_rounds in spent.items():
        client, there = zip(*all_rounds[1:], strict=True)  # the first one warms up
        print(
            f"  {label:10} client {min(client):5.1f} ({median(client):5.1f})"
            f"   server {min(there):5.1f} ({median(there):5.1f})"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    for tasks in args.tasks:
        asyncio.run(_measure(tasks, args.rounds))


if __name__ == "__main__":
    main()
