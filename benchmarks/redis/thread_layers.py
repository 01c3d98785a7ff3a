"""Where the time of a sync cycle goes: CPU per cycle on both sides, layer by layer, with threads.

``python -m benchmarks.redis.thread_layers``. The layers are those of ``layers``, the counterpart
for tasks. How often a thread went to sleep is counted too: with many threads some of those sleeps
are for the interpreter's lock, not for the server.
"""

import argparse
import logging
import resource
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from statistics import median
from typing import NamedTuple

from benchmarks.redis import bare_sync, ours
from benchmarks.redis.layers import HOLDER, requests, server_time
from benchmarks.redis.ours import Work
from holdfast import clock
from holdfast.backends.redis.backend import connect
from holdfast.backends.redis.requests import Post
from holdfast.backends.redis.scripts import script
from holdfast.rules.messages import Granted
from holdfast.runtimes.step import run
from holdfast.settings import address
from tests.servers.redis import RedisServer


class Spent(NamedTuple):
    """What one cycle took: microseconds of CPU on both sides, and sleeps on ours."""

    client: float
    server: float
    sleeps: float


@contextmanager
def _works(server: RedisServer) -> Iterator[Mapping[str, Work]]:
    post = Post("layers", 0.0, clustered=False)
    url = server.url(quarantine=0)
    wire = connect(address(url), "layers").sync_wire(HOLDER)
    with closing(bare_sync.Wire(server.port)) as first:
        for name in ("claim", "end"):
            first.run("SCRIPT", "LOAD", script(name).body)

    def scripts(name: str, until: float) -> int:
        cycles = 0
        with closing(bare_sync.Wire(server.port)) as bare:
            for claim, release in requests(name, until):
                bare.ask(post.letter(claim).data)
                bare.ask(post.letter(release).data)
                cycles += 1
        return cycles

    def on_the_wire(name: str, until: float) -> int:
        cycles = 0
        for claim, release in requests(name, until):
            if not isinstance(run(wire.ask(claim, clock.now() + 5)), Granted):
                raise RuntimeError(f"somebody else had {name!r}")  # noqa: TRY004 - no wrong type
            run(wire.ask(release, clock.now() + 5))
            cycles += 1
        return cycles

    with ExitStack() as stack:
        bare = stack.enter_context(bare_sync.bare(server.port))
        locks = stack.enter_context(ours.working(url))
        yield {
            "bare pair": bare,
            "scripts": scripts,
            "wire": on_the_wire,
            "lock": locks[ours.REUSED],
        }
    wire.close()


def spent_by_threads(server: RedisServer, work: Work, label: str, threads: int) -> Spent:
    """Let so many threads work for a moment."""
    cycles: list[int] = []

    def one(number: int) -> None:
        cycles.append(work(f"{label}:{number}", until))

    sleeps = -resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    client, there = -time.process_time(), -server_time(server)
    until = time.perf_counter() + 0.2
    workers = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if len(cycles) < threads:
        raise RuntimeError(f"{threads - len(cycles)} threads of {label} failed")
    client, there = client + time.process_time(), there + server_time(server)
    sleeps += resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    done = sum(cycles)
    return Spent(client / done * 1e6, there / done * 1e6, sleeps / done)


def _measure(threads: int, rounds: int) -> None:
    spent: dict[str, list[Spent]] = {}
    with RedisServer() as server, _works(server) as works:
        for _ in range(rounds + 1):
            for label, work in works.items():
                spent.setdefault(label, []).append(spent_by_threads(server, work, label, threads))
    print(f"{threads} threads, microseconds of CPU per cycle: least (median)")
    for label, found in spent.items():
        client, there, sleeps = zip(*found[1:], strict=True)  # the first one warms up
        print(
            f"  {label:10} client {min(client):5.1f} ({median(client):5.1f})"
            f"   server {min(there):5.1f} ({median(there):5.1f})   sleeps {median(sleeps):4.1f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 16])
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    for threads in args.threads:
        _measure(threads, args.rounds)


if __name__ == "__main__":
    main()
