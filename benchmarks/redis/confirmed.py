"""What tasks pay for ``replicas=1``: rates and WAITs, near and far replicas, and one that stalls.

    python -m benchmarks.redis.confirmed

The far replica follows its master through a proxy that is late by some milliseconds each way; what
a lone task takes there says how long a WAIT is. During the stall (SIGSTOP) one task asks for names
over and over, while leases that were taken before are given back, one after the other: how long
each takes is what others pay for that task.
"""

import asyncio
import time
from contextlib import ExitStack, suppress
from itertools import count
from statistics import median

import holdfast
from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.watching import eventually
from tests.servers.redis import RedisServer

SECONDS = 2.0
LATE = 0.002
HELD = 20
CALL_LIMIT = 2.0


def main() -> None:
    """Print the figures."""
    for late in (0.0, LATE):
        for tasks in (1, 10, 100):
            print(asyncio.run(_rate(tasks, late)))
    print(asyncio.run(_stall()))


def _pair(scope: ExitStack, late: float) -> tuple[RedisServer, RedisServer]:
    master = scope.enter_context(RedisServer())
    host, port = master.address
    if late:
        proxy = scope.enter_context(Proxy(master.address))
        proxy.delay(late)
        host, port = proxy.address
    replica = scope.enter_context(RedisServer(replicaof=f"{host} {port}"))
    eventually(lambda: "lag=" in master.info("replication").get("slave0", ""), 20, "the replica")
    eventually(lambda: "state=online" in master.info("replication")["slave0"], 20, "the replica")
    return master, replica


async def _rate(tasks: int, late: float) -> str:
    with ExitStack() as scope:
        master, _ = _pair(scope, late)
        async with holdfast.AsyncClient(master.url(quarantine=0, replicas=1)) as client:
            async with client.lock("first"):
                pass
            before, cpu, ends = _waits(master), time.process_time(), time.monotonic() + SECONDS
            took: list[float] = []

            async def work(place: int) -> None:
                lock = client.lock(f"name-{place}")
                while (began := time.monotonic()) < ends:
                    lease = await lock.acquire()
                    took.append(time.monotonic() - began)
                    await lease.release()

            await asyncio.gather(*map(work, range(tasks)))
            waits, cpu = _waits(master) - before, time.process_time() - cpu
    return (
        f"{tasks:4} tasks, {'far' if late else 'near'} replica:"
        f" {len(took) / SECONDS:8.0f} cycles/s,"
        f" {median(took) * 1e3:7.2f} ms to take, {waits / len(took):.3f} WAITs a claim,"
        f" {cpu / len(took) * 1e6:.0f} µs of the client's CPU a cycle"
    )


async def _stall() -> str:
    with ExitStack() as scope:
        master, replica = _pair(scope, 0.0)
        url = master.url(quarantine=0, replicas=1)
        async with holdfast.AsyncClient(url, call_limit=CALL_LIMIT, ttl=60) as client:
            leases = [await client.lock(f"held-{i}").acquire() for i in range(HELD)]
            replica.pause()

            async def ask() -> None:
                for i in count():
                    with suppress(holdfast.BackendUnavailable):
                        await client.lock(f"asked-{i}").acquire(wait=0)

            asking = asyncio.create_task(ask())
            await asyncio.sleep(0.05)  # its WAIT is under way
            took = []
            for lease in leases:
                began = time.monotonic()
                await lease.release()
                took.append(time.monotonic() - began)
            asking.cancel()
            replica.resume()
            await asyncio.wait((asking,))
    shown = f"median {median(took) * 1e3:.1f} ms, longest {max(took) * 1e3:.1f} ms"
    return f"the replica stalls, call_limit {CALL_LIMIT:g} s: a release takes {shown}"


def _waits(server: RedisServer) -> int:
    told = server.info("commandstats").get("cmdstat_wait", "calls=0,")
    return int(told.partition("=")[2].partition(",")[0])


if __name__ == "__main__":
    main()
