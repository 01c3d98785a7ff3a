"""What a client asks while nothing happens: a thousand waiters, and a thousand leases kept alive.

Counted by the server, as transactions of its database; the counting itself is taken off.
"""

import asyncio
import time
from contextlib import AsyncExitStack

import psycopg

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.postgres.scale import Scale
from holdfast.testing.watching import eventually_async
from tests.servers.postgres import PostgresServer

COUNT = (
    "SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database WHERE datname = 'postgres'"
)
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'"


def measure(scale: Scale) -> list[Figure]:
    """Measure both on one server each."""
    with PostgresServer(autovacuum="off") as server:
        waiting = asyncio.run(_waiting(server, scale))
    with PostgresServer(autovacuum="off") as server:
        keeping = asyncio.run(_keeping(server, scale))
    return [*waiting, *keeping]


async def _waiting(server: PostgresServer, scale: Scale) -> list[Figure]:
    url = server.url(quarantine=0)
    async with holdfast.AsyncClient(url) as holder, holdfast.AsyncClient(url) as client:
        async with holder.lock("busy", ttl=3600):
            tasks = [asyncio.create_task(_take(client)) for _ in range(scale.blocked)]

            async def all_wait() -> bool:
                return (await holder.show("busy")).waiters == scale.blocked

            await eventually_async(all_wait, 60.0, "everybody in line")
            rate, sessions = await _counted(server, scale)
        await asyncio.gather(*tasks)
    what = f"{scale.blocked} blocked tasks"
    return [
        _rate(f"{what}, statements", rate, 1.1),
        _plain(f"{what} and their holder, connections", sessions),
    ]


async def _take(client: holdfast.AsyncClient) -> None:
    async with client.lock("busy"):
        pass


async def _keeping(server: PostgresServer, scale: Scale) -> list[Figure]:
    async with holdfast.AsyncClient(server.url(quarantine=0)) as client, AsyncExitStack() as stack:
        for number in range(scale.leases):
            await stack.enter_async_context(client.lock(f"kept:{number}", ttl=3))
        rate, sessions = await _counted(server, scale)
    what = f"{scale.leases} leases with a ttl of 3 s"
    return [
        # Renewed once a second; what is due within a quarter of that rides along.
        _rate(f"{what}, statements", rate, 4.0),
        _plain(f"{what}, connections", sessions),
    ]


async def _counted(server: PostgresServer, scale: Scale) -> tuple[float, int]:
    """Count the transactions a second, without those of the counting."""
    return await asyncio.to_thread(_count, server.url(), scale)


def _count(url: str, scale: Scale) -> tuple[float, int]:
    with psycopg.connect(url, autocommit=True) as connection:
        time.sleep(scale.settle_for)
        before, started_at = connection.execute(COUNT).fetchone(), time.monotonic()
        time.sleep(scale.counted_for)
        sessions = connection.execute(SESSIONS).fetchone()
        after = connection.execute(COUNT).fetchone()
        elapsed = time.monotonic() - started_at
    assert before is not None
    assert after is not None
    assert sessions is not None
    return max(0, after[1] - before[1] - 2) / elapsed, sessions[0]


def _rate(what: str, rate: float, most: float) -> Figure:
    value = Value(rate, "tx/s")
    return Figure(what=what, ours=value, result=value, aim=Aim("at most", Value(most, "tx/s")))


def _plain(what: str, count: int) -> Figure:
    value = Value(count, "modules")
    return Figure(what=what, ours=value, result=value, aim=Aim("at most", Value(4, "modules")))
