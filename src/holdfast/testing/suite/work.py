"""Work that says when it has begun, counts itself, and ends when told to: in both runtimes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

LOOK = 0.005


class Work:
    """A function for ``once`` or ``singleton``; ``held`` work stays inside until ``finish``."""

    def __init__(self, world: World, result: object = "done", *, held: bool = False) -> None:
        self.runs = 0
        self.result = result
        self.error: Exception | None = None
        self._world = world
        self._door = threading.Event()
        if not held:
            self._door.set()

    @property
    def call(self) -> Callable[[], Any]:
        """The work as this runtime wants it."""
        return self._in_task if self._world.mode == "async" else self._in_thread

    def finish(self) -> None:
        """Let everybody out who is, or comes, inside."""
        self._door.set()

    async def begun(self, runs: int = 1) -> None:
        """Come back when it has begun so many times."""
        await eventually_async(lambda: self.runs >= runs, 5.0, f"{runs} runs")

    def _in_thread(self) -> object:
        self.runs += 1
        while not self._door.wait(LOOK):
            pass  # bytecode, so that an interruption arrives
        return self._outcome()

    async def _in_task(self) -> object:
        self.runs += 1
        while not self._door.is_set():  # noqa: ASYNC110 - whoever opens it may be on another thread
            await asyncio.sleep(LOOK)
        return self._outcome()

    def _outcome(self) -> object:
        if self.error is not None:
            raise self.error
        return self.result
