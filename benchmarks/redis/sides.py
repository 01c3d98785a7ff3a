"""Those who take part in the contests: one process's half of each, as ``contest`` runs it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import holdfast
from benchmarks.redis.contest import Half, Side, by_tasks, by_threads
from benchmarks.redis.hop import hop
from benchmarks.redis.peers import PEERS, PYTHON_REDIS_LOCK, REDIS_PY

THREADS, TASKS, HOP = "threads", "tasks", "EVALSHA + PUBLISH"


def _threads(port: int, _: int, serve: Callable[[Half], None]) -> None:
    with holdfast.Client(f"redis://127.0.0.1:{port}/0?quarantine=0") as client:
        serve(by_threads(client.lock))


def _tasks(port: int, _: int, serve: Callable[[Half], None]) -> None:
    async def opened() -> holdfast.AsyncClient:
        url = f"redis://127.0.0.1:{port}/0?quarantine=0"
        return await stack.enter_async_context(holdfast.AsyncClient(url))

    with asyncio.Runner() as loop:
        stack = AsyncExitStack()
        client = loop.run(opened())
        serve(by_tasks(loop, client.lock))


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
}
