"""What an actor does beside taking a lock: cells, once keys, slots, a rate, several names at once.

Written once for threads and tasks: a thread runs it to its end in one step, because nothing in it
suspends there (as the flows of the product do). What is promised of each is judged by a rule of its
own in ``holdfast.testing.history.rules``.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar, get_args

from holdfast.api.client import AsyncClient, Client
from holdfast.errors import (
    BackendUnavailable,
    Conflict,
    HoldfastError,
    LockBusy,
    LockLost,
    RateLimited,
)
from holdfast.testing.history.moment import SECOND, now_ns
from holdfast.testing.workload.diary import Diary
from holdfast.testing.workload.kinds import kind_of
from holdfast.testing.workload.turn import Turn

T = TypeVar("T")

Errand = Literal["add", "do once", "run per slot", "take", "hold together"]
ERRANDS: tuple[Errand, ...] = get_args(Errand)

CELLS = ("cell-0", "cell-1")
JOB = "job"
QUOTA = "quota"
KEPT_FOR = "1d"
"""How long the value of a cell lives after its last change: nothing stays on a server for ever."""

RATE, BURST = 20, 5
"""Permits a second, and how many at once, of the one rate that everybody shares."""

KEY_LASTS = 2.0
"""For so many seconds everybody wants the result of the same key; then of the next."""

PER = 0.5
"""How long a slot of the one singleton is."""

PATIENCE = 0.5


def key_at(moment: int) -> str:
    """Say which once key everybody wants at a moment of the boot clock, in nanoseconds."""
    return f"key-{moment // round(KEY_LASTS * SECOND)}"


def possible(client: Client | AsyncClient, names: tuple[str, ...]) -> tuple[Errand, ...]:
    """Say which errands the backend, and the names of the plan, allow."""
    can = client.capabilities
    allowed: list[Errand] = []
    if can.records:
        allowed += ["add", "do once", "run per slot"]
    if can.buckets:
        allowed.append("take")
    if len([name for name in names if kind_of(name) == "lock"]) > 1:
        allowed.append("hold together")
    return tuple(allowed)


class Runner:
    """Runs the errands of one thread or task."""

    def __init__(
        self, client: Client | AsyncClient, diary: Diary, names: tuple[str, ...], seed: str
    ) -> None:
        self._client = client
        self._diary = diary
        self._possible = possible(client, names)
        self._locks = [name for name in names if kind_of(name) == "lock"]
        self._dice = random.Random(seed)  # noqa: S311 - load, no secret

    async def run(self, turn: Turn) -> None:
        """Run one, whichever the dice choose; an outage ends it, and is no error."""
        try:
            with self._diary.elsewhere():
                match self._dice.choice(self._possible):
                    case "add":
                        await self._add()
                    case "do once":
                        await self._do_once(turn)
                    case "run per slot":
                        await self._run_per_slot(turn)
                    case "take":
                        await self._take()
                    case "hold together":
                        await self._hold_together(turn)
        except (LockBusy, LockLost, RateLimited, BackendUnavailable):
            return

    async def _add(self) -> None:
        cell = self._dice.choice(CELLS)
        self._diary.remark("adding", cell=cell)
        try:
            kept = self._client.cell(cell, expire=KEPT_FOR)
            done = await _settled(kept.update(_one_more, wait=PATIENCE))
        except HoldfastError as error:
            known = isinstance(error, Conflict) or getattr(error, "outcome", "") == "none"
            self._diary.remark("unadded", cell=cell, known=known)
            if not isinstance(error, (Conflict, BackendUnavailable)):
                raise
        else:
            self._diary.remark("added", cell=cell, value=done.value, version=done.version)

    async def _do_once(self, turn: Turn) -> None:
        since = now_ns()
        key = key_at(since)
        once = self._client.once(key, "10m", wait=PATIENCE, ttl=turn.ttl)
        async with _opened(once) as visit:
            if not visit.done:
                at = now_ns()
                visit.lease.check()
                self._diary.remark("working", at=at, key=key, since=since)
                await _settled(visit.store(f"{self._diary.actor} at {at}"))
            self._diary.remark("given", key=key, result=visit.result, since=since)

    async def _run_per_slot(self, turn: Turn) -> None:
        since = now_ns()
        singleton: Any = self._client.singleton(JOB, PER, ttl=turn.ttl)
        run = await _settled(singleton.turn())
        if run is None:
            return  # done in this slot, or another is at it
        slot = run._opened.slot.starts_at  # noqa: SLF001 - nobody else has to know which it is
        async with _opened(run):
            await _settled(run.complete())
            self._diary.remark("completed", job=JOB, slot=slot, since=since)

    async def _take(self) -> None:
        since = now_ns()
        limiter = self._client.limiter(QUOTA, f"{RATE}/s", BURST)
        await _settled(limiter.acquire(wait=PATIENCE))
        self._diary.remark("took", limit=QUOTA, since=since, rate=RATE, burst=BURST)

    async def _hold_together(self, turn: Turn) -> None:
        names = self._dice.sample(self._locks, 2)
        both = self._client.lock_all(names, ttl=turn.ttl, wait=turn.wait)
        how = why = "cancelled"
        with self._diary.company(turn) as notes:
            try:
                async with _opened(both) as leases:
                    for _ in turn.steps:
                        at = now_ns()
                        leases.check()
                        notes.checked(at)
                how = "released"
            except LockLost:
                how = "lost"
                raise
            except LockBusy:
                why = "busy"
                raise
            except BackendUnavailable:
                why = "failed"
                raise
            finally:
                notes.over(how, why)


def _one_more(value: int | None) -> int:
    return (value or 0) + 1


async def _settled(value: T | Awaitable[T]) -> T:
    """Give what a call gave: at once for threads, awaited for tasks."""
    if inspect.isawaitable(value):
        return await value
    return value


@asynccontextmanager
async def _opened(context: Any) -> AsyncIterator[Any]:
    """Enter a ``with`` of either kind."""
    if hasattr(context, "__aenter__"):
        async with context as inside:
            yield inside
    else:
        with context as inside:
            yield inside
