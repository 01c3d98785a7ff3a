"""The port ``Bell`` in a simulated world, in the manners of both runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.scheduler import Killed, Task, park

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client


class SimBell:
    """Rung once. A thread's bell is silent again when it was heard, a loop's is not."""

    __slots__ = ("_client", "_rung", "_stays_rung", "_task", "_turn")

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stays_rung = client.plan.style == "aio"
        self._rung = False
        self._task: Task | None = None
        self._turn = 0

    def ring(self) -> None:
        """Wake whoever waits, a moment later."""
        self._rung = True
        if self._task is not None:
            self._client.wake_up(self._task, self._turn)

    async def wait(self, until: float) -> None:
        """Suspend until rung, or until ``until``."""
        client = self._client
        if client.dead:
            raise Killed
        if not self._rung:
            scheduler = client.scheduler
            self._task = task = scheduler.current
            if task is None:
                raise RuntimeError("only a task can wait")
            self._turn = task.turn
            client.time_out(task, until)
            try:
                await park()
            finally:
                self._task = None
        if not self._stays_rung:
            self._rung = False
