"""PostgreSQL's own session locks: ``postgresql+advisory://`` against the bare pair of calls.

The bare pair is ``pg_advisory_lock`` and ``pg_advisory_unlock`` on one connection of psycopg, with
a number that is at hand: no token, nobody told of a loss, nothing that explains the lock. The peers
are built on the same two functions.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from benchmarks.figures import Figure
from benchmarks.postgres import peers
from benchmarks.postgres.cycles import OURS, figure, rate
from benchmarks.postgres.scale import Scale
from benchmarks.redis import ours
from benchmarks.redis.ours import REUSED, Work
from benchmarks.rounds import interleaved
from tests.servers.postgres import PostgresServer

BARE = "bare pg_advisory_lock, psycopg"


def measure(scale: Scale) -> list[Figure]:
    """Measure one thread: holdfast, the bare pair and the peers, in turn."""
    with PostgresServer() as server, ExitStack() as stack:
        url = server.url().replace("postgresql:", "postgresql+advisory:")
        works: dict[str, Work] = {
            OURS: stack.enter_context(ours.working(url))[REUSED],
            BARE: stack.enter_context(_working(server)),
        }
        for peer, locks in peers.installed().items():
            works[peer] = stack.enter_context(peers.working(locks, server.url()))
        rivals = {label: rate(label, work, scale.turn_for) for label, work in works.items()}
        rates = interleaved(rivals, scale.rounds)
        return [figure("advisory cycle", rates, one, None) for one in rates if one != OURS]


@contextmanager
def _working(server: PostgresServer) -> Iterator[Work]:
    with psycopg.connect(server.url(), autocommit=True, prepare_threshold=1) as connection:

        def work(_name: str, until: float) -> int:
            cycles = 0
            while time.perf_counter() < until:
                connection.execute("SELECT pg_advisory_lock(%s)", (4711,))
                connection.execute("SELECT pg_advisory_unlock(%s)", (4711,))
                cycles += 1
            return cycles

        yield work
