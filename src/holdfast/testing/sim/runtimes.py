"""The port ``Runtime`` in a simulated world: as ``runtimes.aio`` does it, and as ``runtimes.sync``.

Both suspend here, because the scheduler turns every crank; what differs is what a cancellation can
do. In aio the clean-up is shielded from it, in sync a second Ctrl-C cuts it short.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.ports import Bell, Push
from holdfast.testing.sim.bell import SimBell
from holdfast.testing.sim.scheduler import Killed, Task, park

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client

T = TypeVar("T")


class SyncLike:
    """What threads have: no shield, callbacks in place."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0  # of its ports, where they are counted
        self._scheduler = scheduler = client.scheduler
        clock = client.clock

        def now() -> float:
            return clock.base + clock.rate * scheduler.time

        def owner() -> object:
            return scheduler.current

        self.now: Callable[[], float] = now
        self.owner: Callable[[], object] = owner

    def dice(self) -> float:
        """Throw the client's own dice."""
        return self._client.dice.random()

    def bell(self) -> Bell:
        """Make a bell."""
        return SimBell(self._client)

    def push(self, owner: object) -> Push:  # noqa: ARG002 - the port's shape
        """Call back in place."""
        return _in_place

    async def sleep(self, seconds: float) -> None:
        """Let time pass on the client's clock."""
        client = self._client
        task = self._scheduler.current
        if client.dead or task is None:
            raise Killed
        client.time_out(task, self.now() + seconds)
        await park()

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Just do it."""
        return await work


class AioLike(SyncLike):
    """What tasks have: clean-up in a task of its own, callbacks on the loop."""

    def push(self, owner: object) -> Push:  # noqa: ARG002 - the port's shape
        """Call back in the next turn of the loop."""
        client = self._client

        def on_loop(callback: Callable[[], object]) -> None:
            client.call_soon(callback)

        return on_loop

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` as a task, which no cancellation of the caller touches."""
        client, me = self._client, self._scheduler.current
        if client.dead or me is None:
            work.close()
            raise Killed

        def wake(_: Task) -> None:
            client.wake_up(me, me.turn)

        task = Task(client, work, f"{me.label}'s clean-up", wake)
        cancelled: CancelledError | None = None
        while not task.done:
            try:
                await park()
            except CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        if task.error is not None:
            raise task.error
        result: T = task.result
        return result


def _in_place(callback: Callable[[], object]) -> None:
    callback()
