"""What waiting costs: one client with few and with many waiters on a name that somebody holds.

The waiters live in a process of their own, so that its CPU time is theirs alone; the holder is
here. Transactions are counted at the connections of that process (see ``tap``).
"""

import asyncio
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.scale import Scale
from benchmarks.tap import tapped

NAME = "bench"
AIM = Aim("at most", Value(1.1, "tx/s"))
"""One a second; the rest is for the clock."""

FEW = 10
"""Up to so many are threads, more are tasks."""

SETTLE = 1.2
QUEUED_WITHIN = 30.0

Idle = tuple[float, float]
"""Transactions a second, and CPU seconds a second."""


def measure(scale: Scale) -> list[Figure]:
    """Measure each number of waiters."""
    figures = []
    for waiters in scale.waiters:
        transactions, cpu = _idle(waiters, scale.idle_for)
        kind = "thread" if waiters == 1 else "threads" if waiters <= FEW else "tasks"
        what = f"{waiters} waiting {kind}"
        rate, load = Value(transactions, "tx/s"), Value(cpu, "CPU")
        figures += [
            Figure(what=f"{what}: transactions", ours=rate, result=rate, aim=AIM),
            Figure(what=f"{what}: CPU of the process", ours=load, result=load),
        ]
    return figures


def _idle(waiters: int, seconds: float) -> Idle:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        url = f"sqlite:///{folder}/ours.db"
        process = context.Process(
            target=_waiting_process, args=(url, waiters, seconds, theirs), daemon=True
        )
        with holdfast.Client(url) as client, client.lock(NAME):
            process.start()
            try:
                _await_queue(client, waiters)
                ours.send("measure")
                idle: Idle = ours.recv()
            finally:
                process.kill()
                process.join()
    return idle


def _await_queue(client: holdfast.Client, waiters: int) -> None:
    give_up_at = time.monotonic() + QUEUED_WITHIN
    while client.show(NAME).waiters < waiters:
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"{waiters} waiters were not in line after {QUEUED_WITHIN:g} s")
        time.sleep(0.05)


def _waiting_process(url: str, waiters: int, seconds: float, told: Connection) -> None:
    with tapped() as tap:
        if waiters <= FEW:
            _wait_in_threads(url, waiters)
        else:
            thread = threading.Thread(target=_wait_in_tasks, args=(url, waiters), daemon=True)
            thread.start()
        told.recv()
        time.sleep(min(SETTLE, seconds))  # what joining the queue has caused is over
        tap.begun_at.clear()
        cpu_before, before = time.process_time(), time.monotonic()
        time.sleep(seconds)
        cpu, passed = time.process_time() - cpu_before, time.monotonic() - before
        told.send((_rate(tap.begun_at.copy(), passed), cpu / passed))
        told.recv()  # until we are killed


def _rate(moments: Sequence[float], passed: float) -> float:
    """Count transactions per second from first to last: the edges of the window do not matter."""
    if len(moments) < 2:
        return len(moments) / passed
    return (len(moments) - 1) / (moments[-1] - moments[0])


def _wait_in_threads(url: str, waiters: int) -> None:
    lock = holdfast.Client(url).lock(NAME)
    for _ in range(waiters):
        threading.Thread(target=lock.acquire, daemon=True).start()


def _wait_in_tasks(url: str, waiters: int) -> None:
    async def wait() -> None:
        lock = holdfast.AsyncClient(url).lock(NAME)
        await asyncio.gather(*(lock.acquire() for _ in range(waiters)))

    asyncio.run(wait())
