"""A worker's task: takes turns on the plan's locks with a client of tasks.

The counterpart for threads is ``threads``; both play what ``turn`` draws. Tasks may be cancelled,
and may block the loop of all of them.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Coroutine
from typing import Any

from holdfast.api.client import AsyncClient
from holdfast.api.lease import AsyncLease
from holdfast.errors import BackendUnavailable, Conflict, LockBusy, LockLost
from holdfast.testing.history.moment import now_ns
from holdfast.testing.workload.diary import Diary, current
from holdfast.testing.workload.doors import door
from holdfast.testing.workload.errands import Runner
from holdfast.testing.workload.plan import Plan
from holdfast.testing.workload.threads import AFTER_AN_OUTAGE, TOLD_WITHIN, Rash
from holdfast.testing.workload.turn import Step, Turn

BLOCK = 1.5
"""How many lives of a lease a blocked loop does nothing for."""


class Task:
    """One task of one worker; it ends when its turns are over or ``stop`` is set."""

    def __init__(self, plan: Plan, actor: str, client: AsyncClient, stop: threading.Event) -> None:
        self._plan = plan
        self._client = client
        self._stop = stop
        self._actor = actor
        self._diary = Diary(plan, actor, client.holder.client)
        self._runner: Runner | None = None
        if plan.habits.errands:
            self._runner = Runner(client, self._diary, plan.names, f"{plan.seed}/{actor}/errands")

    async def run(self) -> None:
        """Take turns until the end."""
        current.set(self._diary)
        dice = random.Random(f"{self._plan.seed}/{self._actor}")  # noqa: S311 - load, no secret
        turns = self._plan.turns
        while not self._stop.is_set() and turns != 0:
            turns = None if turns is None else turns - 1
            turn = Turn.drawn(self._plan, dice, task=True, may_fork=False)
            away = self._runner is not None and dice.random() < self._plan.habits.errands
            doing = self._runner.run(turn) if away and self._runner else self._take(turn)
            if turn.cancel_after is None:
                await doing
            else:
                await self._cancelled(doing, turn.cancel_after)
            await asyncio.sleep(turn.rest)
        self._diary.end()

    async def _cancelled(self, doing: Coroutine[Any, Any, None], after: float) -> None:
        """Take a turn and be cancelled in the middle of it, unless it is over by then."""
        taking = asyncio.create_task(doing)
        await asyncio.wait({taking}, timeout=after)
        if taking.cancel():
            self._diary.mishap("cancellation")
        await asyncio.wait({taking})
        if not taking.cancelled():
            taking.result()

    async def _take(self, turn: Turn) -> None:
        diary = self._diary
        if turn.breaks:
            await self._break(turn)
        lease: AsyncLease | None = None
        since, how = 0, "released"
        diary.ask(turn)
        try:
            async with door(self._client, turn) as lease:
                diary.note("held", token=lease.token)
                try:
                    await self._hold(turn, lease)
                finally:
                    since = now_ns()
        except LockBusy as error:
            diary.gave_up(error, "busy")
        except BackendUnavailable as error:
            diary.gave_up(error, "failed")
            await asyncio.sleep(AFTER_AN_OUTAGE)
        except LockLost:
            how = "lost"
        except Rash:
            how = "error"
        except asyncio.CancelledError:
            how = "cancelled"
            if lease is None:
                diary.note("cancelled", why="cancelled")
            raise
        finally:
            if lease is not None:
                diary.left(since, how)

    async def _hold(self, turn: Turn, lease: AsyncLease) -> None:
        told = asyncio.Event()
        lease.on_lost(told.set)
        try:
            for step in turn.steps:
                self._diary.check(lease)
                await self._do(step, turn, lease)
                self._diary.check(lease)
        except LockLost as error:
            try:
                async with asyncio.timeout(TOLD_WITHIN):
                    await told.wait()
            except TimeoutError:
                self._diary.note("lost", told=False, why=error.reason)
            except asyncio.CancelledError:  # which is how the body of a lost lease is stopped
                self._diary.note("lost", told=True, why=error.reason)
                raise
            else:
                self._diary.note("lost", told=True, why=error.reason)
            raise
        if turn.errs:
            raise Rash

    async def _do(self, step: Step, turn: Turn, lease: AsyncLease) -> None:
        match step:
            case Step.WRITE | Step.SCRIBBLE:
                fenced = step is Step.WRITE
                value = self._diary.read(turn.name, lease.token, fenced=fenced)
                await asyncio.sleep(turn.pause)
                if value is not None:
                    self._diary.check(lease)
                    self._diary.write(turn.name, lease.token, value + 1, fenced=fenced)
            case Step.EXTEND:
                try:
                    await lease.extend(2 * turn.ttl)
                except BackendUnavailable:
                    return  # it lives as long as it did
                self._diary.note("extended", ttl=2 * turn.ttl)
            case Step.BLOCK:
                self._diary.mishap("blocked loop")
                time.sleep(BLOCK * turn.ttl)  # noqa: ASYNC251 - that is the point
            case Step.REST | Step.FORK:
                await asyncio.sleep(turn.pause)

    async def _break(self, turn: Turn) -> None:
        diary, name, force = self._diary, turn.name, turn.forces
        try:
            holders = (await self._client.show(name)).holders
        except BackendUnavailable:
            return
        for tenure in holders[:1]:
            token, how = tenure.token, "unknown"
            diary.mishap("forced break" if force else "break")
            diary.breaking(name, token, force=force)
            try:
                await self._client.break_lock(name, token=token, reason="a drill", force=force)
                how = "done"
            except Conflict:
                how = "gone"
            except BackendUnavailable:
                how = "unknown"
            finally:
                diary.broke(name, token, how, force=force)
