"""Those who take part in the contests: one process's half of each, as ``contest`` runs it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import holdfast
from benchmarks.redis.contest import Half, Side, by_tasks, by_threads
from benchmarks.redis.hop import hop
from benchmarks.redis.peers import PEERS, PYTHON_REDIS_LOCK, REDIS_PY

THREADS, TASKS, HOP = "threads", "tasks", "EVALSHA + PUBLISH"


LEAD, SEMAPHORE, RWLOCK = "lead", "semaphore", "rwlock"
PERMITS = 3
"""An odd number: so in a fair line whoever gives back makes room for one of the other process."""

SEVERAL = f"{PERMITS} permits"
KINDS = (LEAD, SEMAPHORE, RWLOCK, SEVERAL)
"""What else can be contended for: the lead, the only permit, the right to write, some permits."""


def _wanted(client: Any, kind: str) -> Callable[[str], Any]:
    """Give what describes the contended name, for a client of either runtime."""
    match kind:
        case "lead":
            return client.lead  # type: ignore[no-any-return]
        case "semaphore":
            return lambda name: client.semaphore(name, permits=1)
        case "rwlock":
            return lambda name: client.rwlock(name).write()
        case _ if kind == SEVERAL:
            return lambda name: client.semaphore(name, permits=PERMITS)
        case _:
            return client.lock  # type: ignore[no-any-return]


def _threads(port: int, _: int, serve: Callable[[Half], None], kind: str = "lock") -> None:
    with holdfast.Client(f"redis://127.0.0.1:{port}/0?quarantine=0") as client:
        serve(by_threads(_wanted(client, kind)))


def _tasks(port: int, _: int, serve: Callable[[Half], None], kind: str = "lock") -> None:
    async def opened() -> holdfast.AsyncClient:
        url = f"redis://127.0.0.1:{port}/0?quarantine=0"
        return await stack.enter_async_context(holdfast.AsyncClient(url))

    with asyncio.Runner() as loop:
        stack = AsyncExitStack()
        client = loop.run(opened())
        serve(by_tasks(loop, _wanted(client, kind)))


def _redis_py(port: int, _: int, serve: Callable[[Half], None]) -> None:
    with PEERS[REDIS_PY](port) as lock_on:
        serve(by_threads(lock_on))


def _python_redis_lock(port: int, _: int, serve: Callable[[Half], None]) -> None:
    with PEERS[PYTHON_REDIS_LOCK](port) as lock_on:
        serve(by_threads(lock_on))


SIDES: dict[str, Side] = {
    THREADS: _threads,
    TASKS: _tasks,
    HOP: hop,
    REDIS_PY: _redis_py,
    PYTHON_REDIS_LOCK: _python_redis_lock,
    **{f"{THREADS}, {kind}": partial(_threads, kind=kind) for kind in KINDS},
    **{f"{TASKS}, {kind}": partial(_tasks, kind=kind) for kind in KINDS},
}
