"""Does it matter how many names there are, and does the table grow? Rows and bytes.

The crowd is put into the table by one statement; then one client takes and gives back names of its
own, in turn with one on a table of a hundred. Only the server's own time is compared.
"""

import asyncio
from collections.abc import Callable
from statistics import median
from typing import Any

import psycopg

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.postgres.scale import Scale
from benchmarks.rounds import interleaved, median_ratio
from tests.servers.postgres import PostgresServer

FEW = 100
NAMES = 100
PAGE = 8192

CROWD = """
INSERT INTO {schema}.seats (prefix, name, seat, claim_id, token, ends_at, granted_at, weight, ttl,
    taken, holder, forget_on)
SELECT 'holdfast', 'held:' || number, 0, lpad(number::text, 16, '0'), {schema}.clock(),
    {schema}.clock() + 3600000000, {schema}.clock(), 1, 10000000, 1,
    '["0123456789abcdef", "host", 1, ""]', {schema}.forgettable({schema}.clock() + 3600000000)
FROM generate_series(1, {count}) AS number
"""
TIMED = """
EXPLAIN (ANALYZE, SUMMARY, TIMING OFF, COSTS OFF, FORMAT JSON)
SELECT {schema}.claim('holdfast', 0, %s, %s, 0, 'lock', 1, 1, 10000000, 0, '',
    '["0123456789abcdef", "host", 1, ""]', NULL, false)
"""


def measure(scale: Scale) -> list[Figure]:
    """Measure both on one server, in two schemas."""
    with PostgresServer() as server:
        return [*_crowded(server, scale), *_cycled(server, scale)]


def _crowded(server: PostgresServer, scale: Scale) -> list[Figure]:
    for schema, count in (("crowded", scale.held), ("calm", FEW)):
        with holdfast.Client(server.url(quarantine=0, schema=schema)) as client:
            client.locks("none")
        server.ask(CROWD.format(schema=schema, count=count))
        server.ask(f"VACUUM ANALYZE {schema}.seats")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        each = scale.acquires // 11
        times = interleaved({one: _timer(connection, one, each) for one in ("crowded", "calm")}, 11)
    return [
        Figure(
            what=f"acquire among {scale.held:,} names, on the server",
            ours=Value(median(times["crowded"]), "s"),
            against=f"among {FEW}",
            theirs=Value(median(times["calm"]), "s"),
            result=Value(median_ratio(times["crowded"], times["calm"]), "times"),
            aim=Aim("at most", Value(1.3, "times")),
        )
    ]


def _timer(
    connection: psycopg.Connection[tuple[Any, ...]], schema: str, each: int
) -> Callable[[], float]:
    taken = 0

    def time_them() -> float:
        nonlocal taken
        spans: list[float] = []
        for _ in range(each):
            taken += 1
            name, claim_id = f"own:{taken % 10}", f"{taken:016}"
            explained = connection.execute(TIMED.format(schema=schema), (name, claim_id)).fetchone()
            assert explained is not None
            spans.append(explained[0][0]["Execution Time"] / 1000)
            finish = f"SELECT {schema}.finish('holdfast', 0, %s, %s, 'r')"
            connection.execute(finish, (name, claim_id))
        return median(spans)

    return time_them


def _cycled(server: PostgresServer, scale: Scale) -> list[Figure]:
    asyncio.run(_cycle(server, scale.cycles))
    ((size,),) = server.ask("SELECT pg_total_relation_size('holdfast.seats')")
    value = Value(size / NAMES / PAGE, "modules")
    return [
        Figure(
            what=f"pages per name after {scale.cycles:,} cycles on {NAMES} names, index included",
            ours=value,
            result=value,
        )
    ]


async def _cycle(server: PostgresServer, cycles: int) -> None:
    async with holdfast.AsyncClient(server.url(quarantine=0)) as client:

        async def work(number: int) -> None:
            lock = client.lock(f"cycled:{number}")
            for _ in range(cycles // NAMES):
                async with lock:
                    pass

        await asyncio.gather(*(work(number) for number in range(NAMES)))
