"""One worker process: a client, its threads or tasks, and the ear for the order to stop.

The first line on stdin is the order (a plan, a name, a mode); it may hold a password, so it is no
argument. The end of stdin is the order to stop, and comes also when the crew's process dies. A
worker that cannot stop in time, because it waits for a server that is gone, ends all the same.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from holdfast.api.client import AsyncClient, Client
from holdfast.testing.workload.diary import observe
from holdfast.testing.workload.plan import Mode, Plan
from holdfast.testing.workload.tasks import Task
from holdfast.testing.workload.threads import Thread


def main() -> None:
    """Do what stdin says until it ends."""
    faulthandler.enable()  # a worker that hangs is ended with SIGABRT and tells where it was
    order = json.loads(sys.stdin.readline())
    plan, stop, done = Plan.of(order["plan"]), threading.Event(), threading.Event()

    def hear() -> None:
        sys.stdin.read()
        stop.set()
        if not done.wait(plan.leave_within):  # whoever waits for a server that is gone waits long
            faulthandler.dump_traceback()
            os._exit(1)

    threading.Thread(target=hear, daemon=True).start()
    try:
        work(plan, order["worker"], order["mode"], stop)
    finally:
        done.set()


def work(plan: Plan, worker: str, mode: Mode, stop: threading.Event) -> None:
    """Do a worker's work in this process; raises what should not have happened."""
    match mode:
        case "sync":
            with _client(plan, worker) as client:
                Thread(plan, worker, client, stop, may_fork=plan.habits.forks > 0).run()
        case "threads":
            _threads(plan, worker, stop, _several(plan, worker, "thread"))
        case "async":
            asyncio.run(_tasks(plan, worker, stop))
        case "mixed":
            loop = [lambda: asyncio.run(_tasks(plan, worker, stop))]
            _threads(plan, worker, stop, _several(plan, worker, "thread"), loop)


def _several(plan: Plan, worker: str, kind: str) -> list[str]:
    return [f"{worker}.{kind}{number}" for number in range(plan.actors)]


def _threads(
    plan: Plan,
    worker: str,
    stop: threading.Event,
    actors: list[str],
    others: list[Callable[[], None]] | None = None,
) -> None:
    others = others or []
    with _client(plan, worker) as client, ThreadPoolExecutor(len(actors) + len(others)) as pool:
        threads = [Thread(plan, actor, client, stop, may_fork=False) for actor in actors]
        running = [pool.submit(thread.run) for thread in threads]
        running += [pool.submit(other) for other in others]
        wait(running, return_when=FIRST_EXCEPTION)
        stop_early = any(one.done() and one.exception() for one in running)
        if stop_early:
            stop.set()
        for one in running:
            one.result()


async def _tasks(plan: Plan, worker: str, stop: threading.Event) -> None:
    async with AsyncClient(
        plan.url,
        ttl=plan.ttl,
        call_limit=plan.call_limit,
        holder=worker,
        prefix=plan.prefix,
        observers=[observe],
    ) as client:
        actors = [Task(plan, actor, client, stop) for actor in _several(plan, worker, "task")]
        async with asyncio.TaskGroup() as group:
            for actor in actors:
                group.create_task(actor.run())


def _client(plan: Plan, worker: str) -> Client:
    return Client(
        plan.url,
        ttl=plan.ttl,
        call_limit=plan.call_limit,
        holder=worker,
        prefix=plan.prefix,
        observers=[observe],
    )
