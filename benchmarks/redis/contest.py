"""Many who want the same name, in two processes: who came in when, and when they left.

Waiters of even number live in one process, those of odd number in the other, and they get in line
one after the other: so in a fair queue every hand-over is one between the processes. Stamps are on
the monotonic clock, which the processes of a host share. The first holder waits until all are in
line. Where a name has several permits the first of them are given back one after the other, and
each is held for that many times as long: so there are as many hand-overs a second as of a lock.
"""

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

from benchmarks.redis.peers import AsyncLock, Lock

HOLD = 0.001
STAGGER = 0.002
READY_WITHIN = 0.1


class Plan(NamedTuple):
    """One contest: how many take part, and when it starts, opens and ends."""

    waiters: int
    start_at: float
    open_at: float
    until: float
    permits: int = 1

    @classmethod
    def soon(cls, waiters: int, seconds: float, permits: int) -> "Plan":
        """Give a contest that starts when everybody has heard of it."""
        start_at = time.monotonic() + READY_WITHIN
        open_at = start_at + waiters * STAGGER + READY_WITHIN
        return cls(waiters, start_at, open_at, open_at + seconds, permits)

    @property
    def hold(self) -> float:
        """How long a stay takes."""
        return HOLD * self.permits

    def first_until(self, waiter: int) -> float:
        """Give until when the first stay lasts of those who need not wait; 0 for all others."""
        return self.open_at + waiter * HOLD if waiter < self.permits else 0.0


class Stay(NamedTuple):
    """One turn of one waiter: from its first line inside to its last one before giving back."""

    entered_at: float
    left_at: float
    waiter: int


Half = Callable[[Plan, range], list[Stay]]
"""What one process does of a contest: it plays the waiters of that range."""

Side = Callable[[int, int, Callable[[Half], None]], None]
"""Opens what it needs on a port, as side 0 or 1, and hands over its ``Half``."""


Play = Callable[[int, float], tuple[Plan, Sequence[Stay]]]
"""Plays one contest of so many waiters for so many seconds; gives all stays in their order."""


def by_threads(lock_on: Callable[[str], Lock]) -> Half:
    """Play with a thread each."""

    def play(plan: Plan, waiters: range) -> list[Stay]:
        stays: list[Stay] = []
        workers = [
            threading.Thread(target=_wait_and_hold, args=(lock_on("contest"), plan, waiter, stays))
            for waiter in waiters
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return stays

    return play


def _wait_and_hold(lock: Lock, plan: Plan, waiter: int, stays: list[Stay]) -> None:
    hold_until = plan.first_until(waiter)
    time.sleep(max(0.0, plan.start_at + waiter * STAGGER - time.monotonic()))
    while True:
        with lock:
            entered_at = time.monotonic()
            if entered_at >= plan.until:
                return
            time.sleep(max(plan.hold, hold_until - entered_at))
            left_at = time.monotonic()
        hold_until = 0.0
        stays.append(Stay(entered_at, left_at, waiter))


def by_tasks(loop: asyncio.Runner, lock_on: Callable[[str], AsyncLock]) -> Half:
    """Play with a task each."""

    async def everybody(plan: Plan, waiters: range) -> list[Stay]:
        stays: list[Stay] = []
        locks = ((lock_on("contest"), waiter) for waiter in waiters)
        await asyncio.gather(
            *(_wait_and_hold_async(lock, plan, waiter, stays) for lock, waiter in locks)
        )
        return stays

    return lambda plan, waiters: loop.run(everybody(plan, waiters))


async def _wait_and_hold_async(lock: AsyncLock, plan: Plan, waiter: int, stays: list[Stay]) -> None:
    hold_until = plan.first_until(waiter)
    await asyncio.sleep(max(0.0, plan.start_at + waiter * STAGGER - time.monotonic()))
    while True:
        async with lock:
            entered_at = time.monotonic()
            if entered_at >= plan.until:
                return
            await asyncio.sleep(max(plan.hold, hold_until - entered_at))
            left_at = time.monotonic()
        hold_until = 0.0
        stays.append(Stay(entered_at, left_at, waiter))


@contextmanager
def two_processes(side: Side, port: int, permits: int = 1) -> Iterator[Play]:
    """Start both; give what plays a contest in them and gives the stays in their order."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    processes = [
        context.Process(target=_serve, args=(side, port, number, theirs), daemon=True)
        for number, (_, theirs) in enumerate(pipes)
    ]
    for process in processes:
        process.start()

    starting = [ours for ours, _ in pipes]

    def play(waiters: int, seconds: float) -> tuple[Plan, Sequence[Stay]]:
        while starting:
            starting.pop().recv()  # it is ready; until then others could start too
        plan = Plan.soon(waiters, seconds, permits)
        for ours, _ in pipes:
            ours.send(plan)
        return plan, sorted(stay for ours, _ in pipes for stay in _received(ours))

    try:
        yield play
    finally:
        for process in processes:
            process.kill()
            process.join()


def _received(ours: Connection) -> list[Stay]:
    if not ours.poll(60):
        raise RuntimeError("a contest did not end")
    stays: list[Stay] = ours.recv()
    return stays


def _serve(side: Side, port: int, number: int, told: Connection) -> None:
    def serve(half: Half) -> None:
        told.send("ready")
        while True:
            plan: Plan = told.recv()
            told.send(half(plan, range(number, plan.waiters, 2)))

    side(port, number, serve)
