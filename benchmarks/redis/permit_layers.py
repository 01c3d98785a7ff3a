"""Where the time of a permit goes: CPU per take on both sides, layer by layer, and that of rivals.

``python -m benchmarks.redis.permit_layers``. Counterpart of ``layers`` and ``thread_layers``, which
do it for locks. Below everything is the bare wire with one ``INCRBY`` a take, which limits nothing:
that much costs any exchange. Then the same wire with the command of holdfast's script, each alone
and its reply not even read; the backend's wire; the limiter; and the library ``limits``. A single
caller shares one core with the server, so that nobody pays for waking the other one up.
"""

import argparse
import asyncio
import logging
import os
import time
from binascii import b2a_base64
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, closing
from statistics import median

from benchmarks.redis import bare_async, bare_sync, limited
from benchmarks.redis.layers import HOLDER, spent_by_tasks
from benchmarks.redis.limited import OURS, RATE, AsyncWork, Work
from benchmarks.redis.placement import placed, placements
from benchmarks.redis.thread_layers import spent_by_threads
from holdfast import clock
from holdfast.api.rate import terms_of
from holdfast.backends.redis.backend import connect
from holdfast.backends.redis.requests import Post, command
from holdfast.backends.redis.scripts import script
from holdfast.rules.bucket_messages import Take, Took
from holdfast.rules.messages import Reply
from holdfast.runtimes.step import run
from holdfast.settings import address
from tests.servers.redis import RedisServer

BARE, SCRIPT, WIRE, LIMITER = "bare counter", "script", "wire", "limiter"
TERMS = terms_of(f"{RATE}/h", None)
LOADING = command("SCRIPT", "LOAD", script("bucket_take").body)

Spent = dict[str, list[tuple[float, float]]]
"""Microseconds of both sides per take, one pair a round."""


def _takes(name: str, until: float) -> Iterator[Take]:
    """Give takes until that moment, with ids like those of clients."""
    while True:
        drawn = b2a_base64(os.urandom(12 * 256), newline=False).decode()
        for at in range(0, len(drawn), 16):
            if time.perf_counter() >= until:
                return
            yield Take("limiter", name, drawn[at : at + 16], 1, TERMS)


def _took(reply: Reply) -> bool:
    if not isinstance(reply, Took):
        raise RuntimeError(f"refused: {reply}")  # noqa: TRY004 - no wrong type
    return True


def _by_threads(server: RedisServer, stack: ExitStack) -> Mapping[str, Work]:
    post = Post("layers", 0.0, clustered=False)
    wire = connect(address(server.url(quarantine=0)), "layers").sync_wire(HOLDER)
    stack.callback(wire.close)
    with closing(bare_sync.Wire(server.port)) as first:
        first.ask(LOADING)

    def counter(name: str, until: float) -> int:
        count, taken = bare_sync.packed("INCRBY", f"bare {name}", 1), 0
        with closing(bare_sync.Wire(server.port)) as bare:
            while time.perf_counter() < until:
                taken += bool(bare.ask(count))
        return taken

    def scripts(name: str, until: float) -> int:
        with closing(bare_sync.Wire(server.port)) as bare:
            return sum(bool(bare.ask(post.letter(one).data)) for one in _takes(name, until))

    def on_the_wire(name: str, until: float) -> int:
        return sum(_took(run(wire.ask(one, clock.now() + 5))) for one in _takes(name, until))

    return {BARE: counter, SCRIPT: scripts, WIRE: on_the_wire, **limited.working(server, stack)}


async def _by_tasks(server: RedisServer, stack: AsyncExitStack) -> Mapping[str, AsyncWork]:
    loop = asyncio.get_running_loop()
    transport, bare = await loop.create_connection(bare_async.Protocol, *server.address)
    stack.callback(transport.close)
    post = Post("layers", 0.0, clustered=False)
    wire = connect(address(server.url(quarantine=0)), "layers").aio_wire(HOLDER)
    stack.callback(wire.close)
    await bare.ask(LOADING)

    async def counter(name: str, until: float) -> int:
        count, taken = bare_sync.packed("INCRBY", f"bare {name}", 1), 0
        while time.perf_counter() < until:
            taken += bool(await bare.ask(count))
        return taken

    async def scripts(name: str, until: float) -> int:
        taken = 0
        for one in _takes(name, until):
            taken += bool(await bare.ask(post.letter(one).data))
        return taken

    async def on_the_wire(name: str, until: float) -> int:
        taken = 0
        for one in _takes(name, until):
            taken += _took(await wire.ask(one, clock.now() + 5))
        return taken

    rivals = await limited.working_async(server, stack)
    return {BARE: counter, SCRIPT: scripts, WIRE: on_the_wire, **rivals}


def _measure_threads(threads: int, rounds: int) -> None:
    spent: Spent = {}
    with RedisServer() as server, ExitStack() as stack:
        works = _by_threads(server, stack)
        stack.enter_context(placed(placements(threads)[-1], server.pid))
        for _ in range(rounds + 1):
            for label, work in works.items():
                client, there, _ = spent_by_threads(server, work, label, threads)
                spent.setdefault(label, []).append((client, there))
    _show(f"{threads} thread{'s' * (threads > 1)}", spent)


async def _measure_tasks(tasks: int, rounds: int) -> None:
    spent: Spent = {}
    with RedisServer() as server:
        async with AsyncExitStack() as stack:
            works = await _by_tasks(server, stack)
            stack.enter_context(placed(placements(tasks)[-1], server.pid))
            for _ in range(rounds + 1):
                for label, work in works.items():
                    found = await spent_by_tasks(server, work, label, tasks)
                    spent.setdefault(label, []).append(found)
    _show(f"{tasks} task{'s' * (tasks > 1)}", spent)


def _show(who: str, spent: Spent) -> None:
    print(f"{who}, microseconds of CPU per take: least (median)")
    for label, all_rounds in spent.items():
        client, there = zip(*all_rounds[1:], strict=True)  # the first one warms up
        print(
            f"  {LIMITER if label == OURS else label:31}"
            f" client {min(client):5.1f} ({median(client):5.1f})"
            f"   server {min(there):5.1f} ({median(there):5.1f})"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 100])
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    for threads in args.threads:
        _measure_threads(threads, args.rounds)
    for tasks in args.tasks:
        asyncio.run(_measure_tasks(tasks, args.rounds))


if __name__ == "__main__":
    main()
