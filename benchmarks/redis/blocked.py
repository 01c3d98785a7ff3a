"""What waiting costs: a thousand waiters of one client on a name that is held, and nothing else.

The name is held by no process (a detached lease), so all that the server sees comes from the
waiters. They live in a process of their own, whose CPU time is theirs alone.
"""

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.amounts import Amount
from benchmarks.redis.counting import Seen, connections
from benchmarks.redis.peers import ASYNC_PEERS, REDIS_PY
from benchmarks.redis.scale import Scale
from holdfast.api.handle import acquire_handle
from tests.servers.redis import RedisServer

NAME = "blocked"
HELD_FOR = 600
SETTLE = 1.5
QUEUED_WITHIN = 60.0

REQUESTS = Aim("at most", Amount(1.1, "requests/s"))
CONNECTIONS = Aim("at most", Amount(2, "connections"))
CPU = Aim("at most", Value(0.01, "CPU"))


class Cost(NamedTuple):
    """What was seen while nothing happened."""

    requests: float
    connections: int
    cpu: float


def measure(scale: Scale) -> list[Figure]:
    """Measure tasks, which the aims are about; then threads and redis-py's tasks beside them."""
    tasks = _cost(_wait_in_tasks, scale, ours=True)
    threads = _cost(_wait_in_threads, scale, ours=True)
    figures = [
        *_figures(f"{scale.blocked} blocked tasks", tasks, (REQUESTS, CONNECTIONS, CPU)),
        *_figures(f"{scale.blocked} blocked threads", threads, (None, None, None)),
    ]
    if REDIS_PY in ASYNC_PEERS:
        theirs = _cost(_wait_in_redis_py, scale, ours=False)
        figures += _figures(f"{scale.blocked} blocked tasks, {REDIS_PY}", theirs, (None,) * 3)
    return figures


def _figures(what: str, cost: Cost, aims: tuple[Aim | None, ...]) -> list[Figure]:
    values = (
        Amount(cost.requests, "requests/s"),
        Amount(cost.connections, "connections"),
        Value(cost.cpu, "CPU"),
    )
    names = ("requests", "connections", "CPU of the client")
    return [
        Figure(what=f"{what}: {name}", ours=value, result=value, aim=aim)
        for name, value, aim in zip(names, values, aims, strict=True)
    ]


def _cost(wait: Callable[[int, int], None], scale: Scale, *, ours: bool) -> Cost:
    context = multiprocessing.get_context("spawn")
    told, theirs = context.Pipe()
    with RedisServer() as server:
        _hold(server)
        process = context.Process(
            target=_waiting_process, args=(wait, server.port, scale.blocked, theirs), daemon=True
        )
        process.start()
        try:
            if ours:
                _await_queue(server, scale.blocked)
            else:
                _await_connections(server, scale.blocked)
            time.sleep(min(SETTLE, scale.blocked_for))  # what getting in line has caused is over
            return _watched(server, told, scale.blocked_for, () if ours else ("set",))
        finally:
            process.kill()
            process.join()


def _watched(server: RedisServer, told: Connection, seconds: float, sent: tuple[str, ...]) -> Cost:
    before, started_at = Seen.by(server, *sent), time.monotonic()
    told.send(seconds)
    cpu: float = told.recv()
    after, passed = Seen.by(server, *sent), time.monotonic() - started_at
    return Cost(after.since(before).requests / passed, connections(server), cpu)


def _hold(server: RedisServer) -> None:
    with holdfast.Client(server.url(quarantine=0)) as client:
        acquire_handle(client, NAME, ttl=HELD_FOR)
    server.ask("SET", f"peer:{NAME}", "held")


def _await_queue(server: RedisServer, waiters: int) -> None:
    with holdfast.Client(server.url(quarantine=0)) as client:
        _await(lambda: client.show(NAME).waiters >= waiters, waiters)


def _await_connections(server: RedisServer, waiters: int) -> None:
    _await(lambda: connections(server) >= waiters, waiters)


def _await(ready: Callable[[], bool], waiters: int) -> None:
    give_up_at = time.monotonic() + QUEUED_WITHIN
    while not ready():
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"{waiters} waiters were not in line after {QUEUED_WITHIN:g} s")
        time.sleep(0.1)


def _waiting_process(
    wait: Callable[[int, int], None], port: int, waiters: int, told: Connection
) -> None:
    threading.Thread(target=wait, args=(port, waiters), daemon=True).start()
    seconds: float = told.recv()
    cpu_before, before = time.process_time(), time.monotonic()
    time.sleep(seconds)
    told.send((time.process_time() - cpu_before) / (time.monotonic() - before))
    told.recv()  # until we are killed


def _wait_in_tasks(port: int, waiters: int) -> None:
    async def wait() -> None:
        client = holdfast.AsyncClient(f"redis://127.0.0.1:{port}/0?quarantine=0")
        lock = client.lock(NAME)
        await asyncio.gather(*(lock.acquire() for _ in range(waiters)))

    asyncio.run(wait())


def _wait_in_threads(port: int, waiters: int) -> None:
    client = holdfast.Client(f"redis://127.0.0.1:{port}/0?quarantine=0")
    lock = client.lock(NAME)
    for _ in range(waiters):
        threading.Thread(target=lock.acquire, daemon=True).start()


def _wait_in_redis_py(port: int, waiters: int) -> None:
    async def wait() -> None:
        async with ASYNC_PEERS[REDIS_PY](port) as lock_on:
            locks = [lock_on(f"peer:{NAME}") for _ in range(waiters)]
            await asyncio.gather(*(lock.__aenter__() for lock in locks))

    asyncio.run(wait())
