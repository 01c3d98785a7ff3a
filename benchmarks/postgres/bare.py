"""The least that a lock in a table could be: one conditional update to take it, one to give back.

No queue, no token, no renewal, nobody told: what holdfast is set against. Once through psycopg as
most programs use it, once by PostgreSQL's own ``pgbench``, which is written in C.
"""

import asyncio
import re
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
import psycopg_pool

from benchmarks.redis.ours import AsyncWork, Work
from tests.servers.ports import HOST
from tests.servers.postgres import DATABASE, USER, PostgresServer

SET_UP = """
CREATE TABLE bare (name text PRIMARY KEY, owner text, ends_at timestamptz) WITH (fillfactor = 50);
INSERT INTO bare SELECT 'name:' || number FROM generate_series(0, 999) AS number
"""
TAKE = """UPDATE bare SET owner = %s, ends_at = clock_timestamp() + interval '10 s'
WHERE name = %s AND (owner IS NULL OR ends_at < clock_timestamp()) RETURNING 1"""
GIVE_BACK = "UPDATE bare SET owner = NULL WHERE name = %s AND owner = %s"

POOLED = 4
"""As many connections as holdfast may have."""


@contextmanager
def working(server: PostgresServer) -> Iterator[Work]:
    """Give the work of one thread through psycopg."""
    with psycopg.connect(server.url(), autocommit=True, prepare_threshold=1) as connection:

        def work(name: str, until: float) -> int:
            cycles = 0
            key = f"name:{name.rpartition(':')[2]}"
            while time.perf_counter() < until:
                assert connection.execute(TAKE, ("me", key)).fetchone()
                connection.execute(GIVE_BACK, (key, "me"))
                cycles += 1
            return cycles

        yield work


@asynccontextmanager
async def working_async(server: PostgresServer) -> AsyncIterator[AsyncWork]:
    """Give the work of one task, one statement per lock, over a small pool."""
    async with psycopg_pool.AsyncConnectionPool(
        server.url(),
        min_size=POOLED,
        max_size=POOLED,
        timeout=120,
        kwargs={"autocommit": True, "prepare_threshold": 1},
    ) as pool:

        async def work(name: str, until: float) -> int:
            cycles = 0
            key = f"name:{name.rpartition(':')[2]}"
            while time.perf_counter() < until:
                async with pool.connection() as connection:
                    assert await (await connection.execute(TAKE, ("me", key))).fetchone()
                async with pool.connection() as connection:
                    await connection.execute(GIVE_BACK, (key, "me"))
                cycles += 1
                await asyncio.sleep(0)
            return cycles

        yield work


def pgbench(server: PostgresServer, seconds: float) -> float:
    """Give the cycles a second that pgbench makes of the same two statements."""
    script = server.folder / "cycle.sql"
    take = TAKE.replace("%s", "'me'", 1).replace("%s", "'name:0'")
    back = GIVE_BACK.replace("%s", "'name:0'", 1).replace("%s", "'me'")
    script.write_text(f"{take};\n{back};\n".replace("\nWHERE", " WHERE"), "utf-8")
    program = server._process.binary.path.with_name("pgbench")  # noqa: SLF001 - beside it
    how = ["-n", "-M", "prepared", "-c", "1", "-T", str(max(1, round(seconds))), "-f", str(script)]
    where = ["-h", HOST, "-p", str(server.port), "-U", USER, DATABASE]
    done = subprocess.run([program, *how, *where], check=True, capture_output=True, text=True)
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])
