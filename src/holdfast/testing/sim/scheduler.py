"""The heart of a simulated world: what happens next, and the tasks to which it happens.

One thread, one heap of events. A task is a coroutine of the product (or of a body that uses it)
that suspends in a port; whatever it waits for resumes it by an event. The order of events follows
from their times and, among equals, from the order in which they were planned: nothing here throws
dice, so the same plan gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from itertools import count
from types import coroutine
from typing import Any, TypeAlias

Action: TypeAlias = Callable[[Any], object]

MOST_STEPS = 100_000
"""A world that takes more events than this goes round in circles."""


@coroutine
def park() -> Generator[None, Any, Any]:
    """Suspend the running task; give what it is resumed with."""
    return (yield)


class Scheduler:
    """Events in the order of their time."""

    __slots__ = ("_heap", "_numbers", "current", "stale", "steps", "stopped", "time")

    def __init__(self) -> None:
        self.time = 0.0
        self.steps = 0
        self.stale = 0  # events that found nothing to do: a timer of a wait that is over
        self.stopped = False
        self.current: Task | None = None
        self._heap: list[tuple[float, int, Action, Any]] = []
        self._numbers = count()

    def at(self, time: float, action: Action, argument: object = None) -> None:
        """Plan an event."""
        heappush(self._heap, (time, next(self._numbers), action, argument))

    def soon(self, action: Action, argument: object = None) -> None:
        """Plan an event for this very moment, behind those already planned for it."""
        self.at(self.time, action, argument)

    def run(self, until: float, crowded: dict[str, Any], look: Callable[[], object]) -> None:
        """Let everything happen up to ``until``; ``look`` after each event while it is crowded."""
        heap = self._heap
        steps = self.steps
        while heap and not self.stopped:
            event = heappop(heap)
            if event[0] > until:
                heappush(heap, event)
                break
            self.time = event[0]
            steps += 1
            event[2](event[3])
            if crowded:
                look()
            if steps >= MOST_STEPS:
                break
        self.steps = steps
        if not self.stopped and steps < MOST_STEPS:
            self.time = max(self.time, until)

    @property
    def idle(self) -> bool:
        """Whether nothing is planned any more."""
        return not self._heap


class Process:
    """Something that runs tasks, and that can be stopped as a whole."""

    __slots__ = ("backlog", "dead", "halted", "scheduler", "tasks")

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.halted = False  # paused or dead: nothing of it runs
        self.dead = False
        self.backlog: list[tuple[Action, object]] = []
        self.tasks: list[Task] = []

    def halt(self) -> None:
        """Stop everything (SIGSTOP): what comes meanwhile waits."""
        self.halted = True

    def go_on(self) -> None:
        """Continue (SIGCONT): what came meanwhile happens now, in its order."""
        self.halted = False
        backlog, self.backlog = self.backlog, []
        for action, argument in backlog:
            self.scheduler.soon(action, argument)

    def die(self) -> None:
        """End at once (SIGKILL): nothing is cleaned up.

        The coroutines are unwound, because Python would do it anyway when it collects them; by
        then no port leads out of a dead process, so the world does not notice.
        """
        self.halted = self.dead = True
        self.backlog.clear()
        for task in tuple(self.tasks):
            task.unwind()


class Killed(BaseException):
    """Thrown into what is left of a dead process, so that its coroutines end."""


class Task:
    """One coroutine, turned by events."""

    __slots__ = (
        "_coroutine",
        "_on_end",
        "_send",
        "done",
        "error",
        "label",
        "process",
        "result",
        "strikes",
        "turn",
    )

    def __init__(
        self,
        process: Process,
        coroutine_: Coroutine[Any, Any, Any],
        label: str,
        on_end: Callable[[Task], object] | None = None,
        strikes: dict[int, tuple[float, BaseException]] | None = None,
    ) -> None:
        self.process = process
        self.label = label
        self.turn = 0  # which suspension this is; a wake-up for an earlier one is stale
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.strikes = strikes  # by suspension: how long after it began, and what is thrown in
        self._coroutine = coroutine_
        self._send = coroutine_.send
        self._on_end = on_end
        process.tasks.append(self)
        process.scheduler.soon(self.resume, (0, None))

    def resume(self, wake: tuple[int, Any]) -> None:
        """Go on with a value, unless the task has gone on already."""
        if wake[0] != self.turn or self.done:
            self.process.scheduler.stale += 1
        elif self.process.halted:
            if not self.process.dead:
                self.process.backlog.append((self.resume, wake))
        else:
            self._go_on(wake[1], None)

    def strike(self, wake: tuple[int, BaseException]) -> None:
        """Throw an exception in, unless the task has gone on already."""
        if wake[0] != self.turn or self.done:
            self.process.scheduler.stale += 1
        elif self.process.halted:
            if not self.process.dead:
                self.process.backlog.append((self.strike, wake))
        else:
            self._go_on(None, wake[1])

    def unwind(self) -> None:
        """End the coroutine of a dead process."""
        if not self.done:
            self._on_end = None
            self.strikes = None
            while not self.done:
                self._go_on(None, Killed())

    def _go_on(self, value: object, error: BaseException | None) -> None:
        scheduler = self.process.scheduler
        before, scheduler.current = scheduler.current, self
        self.turn += 1
        try:
            if error is None:
                self._send(value)
            else:
                self._coroutine.throw(error)
            if self.strikes and self.turn in self.strikes:
                after, strike = self.strikes.pop(self.turn)
                scheduler.at(scheduler.time + after, self.strike, (self.turn, strike))
        except StopIteration as stop:
            self._end(stop.value, None)
        except BaseException as failure:  # noqa: BLE001 - whoever joins the task is told
            self._end(None, failure)
        scheduler.current = before

    def _end(self, result: object, error: BaseException | None) -> None:
        self.done, self.result, self.error = True, result, error
        if self in self.process.tasks:
            self.process.tasks.remove(self)
        if self._on_end is not None:
            self._on_end(self)
