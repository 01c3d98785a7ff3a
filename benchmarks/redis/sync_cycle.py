"""Take and give back with threads, each its own name: one thread, and many."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from benchmarks.figures import Figure
from benchmarks.redis import bare_sync, ours, peers
from benchmarks.redis.cycle_figures import BARE, figures
from benchmarks.redis.ours import Work
from benchmarks.redis.placement import Placement, placed, placements
from benchmarks.redis.scale import Scale
from benchmarks.rounds import interleaved
from tests.servers.redis import RedisServer


def measure(scale: Scale) -> list[Figure]:
    """Measure holdfast, the bare wire and the peers in turn, for each number of threads."""
    found = []
    with RedisServer() as server, ExitStack() as stack:
        works: dict[str, Work] = {
            **stack.enter_context(ours.working(server.url(quarantine=0))),
            BARE: stack.enter_context(bare_sync.bare(server.port)),
        }
        for peer, locks in peers.PEERS.items():
            works[peer] = stack.enter_context(peers.working(locks, server.port))
        for threads in scale.threads:
            for where in placements(threads):
                with placed(where, server.pid):
                    rates = interleaved(_rivals(works, threads, scale.turn_for), scale.rounds)
                what = f"cycle, {threads} thread{'s' * (threads > 1)}"
                title = what if where == "free" else f"{what} ({where})"
                found += figures(title, rates, _aims(threads, where))
    return found


def _aims(threads: int, where: Placement) -> Mapping[str, float]:
    aims = {BARE: 0.75 if threads == 1 else 1.0}
    # On two cores a call is mostly waking up: not even the bare wire is 2.5 times as quick.
    return aims if where == "two cores" else {**aims, peers.REDIS_PY: 2.5}


def _rivals(
    works: Mapping[str, Work], threads: int, seconds: float
) -> Mapping[str, Callable[[], float]]:
    def rival(label: str, work: Work) -> Callable[[], float]:
        return lambda: _rate(work, label, threads, seconds)

    return {label: rival(label, work) for label, work in works.items()}


def _rate(work: Work, label: str, threads: int, seconds: float) -> float:
    """Let so many threads work at the same time; give the cycles a second of all together."""
    turns: list[tuple[float, float, int]] = []
    ready = threading.Barrier(threads)

    def one(number: int) -> None:
        ready.wait()
        started_at = time.perf_counter()
        cycles = work(f"{label}:{number}", started_at + seconds)
        turns.append((started_at, time.perf_counter(), cycles))

    if threads == 1:
        one(0)
    else:
        workers = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if len(turns) < threads:
        raise RuntimeError(f"{threads - len(turns)} threads of {label} failed")
    started_at = min(turn[0] for turn in turns)
    ended_at = max(turn[1] for turn in turns)
    return sum(turn[2] for turn in turns) / (ended_at - started_at)
