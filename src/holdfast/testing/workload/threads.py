"""A worker's thread: takes turns on the plan's locks with a client of threads.

The counterpart for tasks is ``tasks``; both play what ``turn`` draws.
"""

from __future__ import annotations

import os
import random
import threading
import time
import traceback

from holdfast.api.client import Client
from holdfast.api.lease import Lease
from holdfast.errors import BackendUnavailable, Conflict, LockBusy, LockLost
from holdfast.runtimes.step import run as step
from holdfast.testing.history.moment import now_ns
from holdfast.testing.workload.diary import Diary, current
from holdfast.testing.workload.doors import door
from holdfast.testing.workload.errands import Runner
from holdfast.testing.workload.plan import Plan
from holdfast.testing.workload.turn import Step, Turn

TOLD_WITHIN = 5.0
"""How long whoever has found its lease over waits for the callback that tells it."""

CHILD_TURNS = 2
AFTER_AN_OUTAGE = 0.02


class Rash(Exception):
    """An error in the body of a lock, as people's code has them."""


class Thread:
    """One thread of one worker; it ends when its turns are over or ``stop`` is set."""

    def __init__(
        self, plan: Plan, actor: str, client: Client, stop: threading.Event, *, may_fork: bool
    ) -> None:
        self._plan = plan
        self._client = client
        self._stop = stop
        self._may_fork = may_fork
        self._actor = actor
        self._children: list[int] = []
        self._diary = Diary(plan, actor, client.holder.client)
        self._runner: Runner | None = None
        if plan.habits.errands:
            self._runner = Runner(client, self._diary, plan.names, f"{plan.seed}/{actor}/errands")

    def run(self) -> None:
        """Take turns until the end."""
        current.set(self._diary)
        dice = random.Random(f"{self._plan.seed}/{self._actor}")  # noqa: S311 - load, no secret
        turns = self._plan.turns
        while not self._stop.is_set() and turns != 0:
            turns = None if turns is None else turns - 1
            turn = Turn.drawn(self._plan, dice, task=False, may_fork=self._may_fork)
            if self._runner is not None and dice.random() < self._plan.habits.errands:
                step(self._runner.run(turn))
            else:
                self._take(turn)
            time.sleep(turn.rest)
        for child in self._children:
            os.waitpid(child, 0)
        self._diary.end()

    def _take(self, turn: Turn) -> None:
        diary = self._diary
        if turn.breaks:
            self._break(turn)
        lease: Lease | None = None
        since, how = 0, "released"
        diary.ask(turn)
        try:
            with door(self._client, turn) as lease:
                diary.note("held", token=lease.token)
                try:
                    self._hold(turn, lease)
                finally:
                    since = now_ns()
        except LockBusy as error:
            diary.gave_up(error, "busy")
        except BackendUnavailable as error:
            diary.gave_up(error, "failed")
            time.sleep(AFTER_AN_OUTAGE)
        except LockLost:
            how = "lost"
        except Rash:
            how = "error"
        if lease is not None:
            diary.left(since, how)

    def _hold(self, turn: Turn, lease: Lease) -> None:
        told = threading.Event()
        lease.on_lost(told.set)
        try:
            for step in turn.steps:
                self._diary.check(lease)
                self._do(step, turn, lease)
                self._diary.check(lease)
        except LockLost as error:
            self._diary.note("lost", told=told.wait(TOLD_WITHIN), why=error.reason)
            raise
        if turn.errs:
            raise Rash

    def _do(self, step: Step, turn: Turn, lease: Lease) -> None:
        match step:
            case Step.WRITE | Step.SCRIBBLE:
                fenced = step is Step.WRITE
                value = self._diary.read(turn.name, lease.token, fenced=fenced)
                time.sleep(turn.pause)
                if value is not None:
                    self._diary.check(lease)
                    self._diary.write(turn.name, lease.token, value + 1, fenced=fenced)
            case Step.EXTEND:
                try:
                    lease.extend(2 * turn.ttl)
                except BackendUnavailable:
                    return  # it lives as long as it did
                self._diary.note("extended", ttl=2 * turn.ttl)
            case Step.FORK:
                self._fork(lease)
            case Step.REST | Step.BLOCK:
                time.sleep(turn.pause)

    def _break(self, turn: Turn) -> None:
        diary, name, force = self._diary, turn.name, turn.forces
        try:
            holders = self._client.show(name).holders
        except BackendUnavailable:
            return
        for tenure in holders[:1]:
            token, how = tenure.token, "done"
            diary.mishap("forced break" if force else "break")
            diary.breaking(name, token, force=force)
            try:
                self._client.break_lock(name, token=token, reason="a drill", force=force)
            except Conflict:
                how = "gone"
            except BackendUnavailable:
                how = "unknown"
            diary.broke(name, token, how, force=force)

    def _fork(self, lease: Lease) -> None:
        self._diary.mishap("fork")
        self._children = [pid for pid in self._children if not os.waitpid(pid, os.WNOHANG)[0]]
        child = f"{self._actor}-child{now_ns()}"
        pid = os.fork()
        if pid:
            self._children.append(pid)
            return
        code = 1
        try:
            self._be_a_child(child, lease)
            code = 0
        except BaseException:  # noqa: BLE001 - nothing of the parent's may run in here
            traceback.print_exc()
        finally:
            os._exit(code)

    def _be_a_child(self, actor: str, lease: Lease) -> None:
        mine = self._client.holder.client  # another than the parent's
        parent, self._diary = self._diary, Diary(self._plan, actor, mine)
        current.set(self._diary)
        self._diary.inherited(lease, parent)
        self._may_fork, self._children = False, []
        dice = random.Random(f"{self._plan.seed}/{actor}")  # noqa: S311 - load, no secret
        for _ in range(CHILD_TURNS):
            self._take(Turn.drawn(self._plan, dice, task=False, may_fork=False))
        self._client.close()
        self._diary.end()
