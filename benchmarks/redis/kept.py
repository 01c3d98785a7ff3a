"""Ten thousand leases kept by one client for two ttls: what leaves it, and is any lost.

Writes are overheard in this process (``tap``), chunks are counted where the server reads them. A
tick is a burst of writes; one that only asks whether the server is still there is none.
"""

import asyncio
from statistics import median

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.amounts import Amount
from benchmarks.redis.counting import Seen
from benchmarks.redis.scale import Scale
from benchmarks.redis.tap import Write, bursts, tapped
from tests.servers.redis import RedisServer

AT_ONCE = 1000
ONE = Aim("at most", Amount(1, "per tick"))
NONE = Aim("at most", Amount(0, "leases"))


def measure(scale: Scale) -> list[Figure]:
    """Keep them, and look."""
    with RedisServer() as server, tapped() as heard:
        lost, seen = asyncio.run(_keep(server, scale, heard))
    what = f"{scale.leases} leases kept"
    gone = Amount(lost, "leases")
    figures = [Figure(what=f"{what}: lost", ours=gone, result=gone, aim=NONE)]
    ticks = [tick for tick in bursts(heard) if any(write.requests for write in tick)]
    return figures + _of(what, ticks, seen.chunks) if ticks else figures


def _of(what: str, ticks: list[list[Write]], chunks: int) -> list[Figure]:
    writes = median(sum(bool(write.requests) for write in tick) for tick in ticks)
    scripts = median(sum(write.requests for write in tick) for tick in ticks)
    size = median(sum(write.size for write in tick) for tick in ticks)
    between = (ticks[-1][0].at - ticks[0][0].at) / max(1, len(ticks) - 1)
    rows: list[tuple[str, Value, Aim | None]] = [
        ("writes", Amount(writes, "per tick"), ONE),
        ("scripts called", Amount(scripts, "per tick"), None),
        ("chunks the server read", Amount(chunks / len(ticks), "per tick"), None),
        ("sent at each tick", Amount(size, "bytes"), None),
        ("time between ticks", Value(between, "s"), None),
    ]
    return [
        Figure(what=f"{what}: {name}", ours=value, result=value, aim=aim)
        for name, value, aim in rows
    ]


async def _keep(server: RedisServer, scale: Scale, heard: list[Write]) -> tuple[int, Seen]:
    async with holdfast.AsyncClient(server.url(quarantine=0), ttl=scale.ttl) as client:
        leases: list[holdfast.AsyncLease] = []
        for first in range(0, scale.leases, AT_ONCE):
            names = range(first, min(first + AT_ONCE, scale.leases))
            leases += await asyncio.gather(
                *(client.lock(f"kept:{number}").acquire() for number in names)
            )
        await asyncio.sleep(scale.ttl / 2)  # every lease has been renewed once
        before = Seen.by(server)
        heard.clear()
        await asyncio.sleep(2 * scale.ttl)
        seen = Seen.by(server).since(before)
        overheard = heard.copy()
        lost = sum(not lease.held for lease in leases)
    heard[:] = overheard
    return lost, seen
