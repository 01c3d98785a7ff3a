"""A signal that asks to end, turned into an orderly end of the body that leads.

The body is left as if by ``sys.exit(128 + N)``: what it has to tidy up is tidied up, the lease is
given back, so that a standby takes over at once, and then the program ends. While the lease is
being given back a signal is only remembered. Handlers are put in place when the waiting begins and
are what they were before when the body is left; only the main thread can do that.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import FrameType
from typing import Any

from holdfast.errors import Misuse
from holdfast.runtimes.stop import TaskStop

SIGNALLED = 128


class Resignation:
    """The handlers of one stay, and the signal that came, if any."""

    def __init__(self, signals: Sequence[signal.Signals]) -> None:
        self.signum = 0
        self._before: dict[int, Any] = {}
        try:
            for one in signals:
                self._before[one] = signal.signal(one, self._heard)
        except ValueError:
            raise Misuse(
                "resign_on works in the main thread only: elsewhere call release() yourself"
            ) from None

    def _heard(self, signum: int, _frame: FrameType | None) -> None:
        if not self.signum:
            self.signum = signum
            self._act()

    def _act(self) -> None:
        """Do what brings the body to its end."""

    def leave(self) -> None:
        """Put the handlers back that were there before."""
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        self._before.clear()

    def exit(self) -> SystemExit:
        """Make what ends the program, with the code that a shell would show for the signal."""
        return SystemExit(SIGNALLED + self.signum)


class ThreadResignation(Resignation):
    """For the main thread: the signal is raised right where it is at work or waits."""

    inside = True

    def _act(self) -> None:
        if self.inside:
            self.inside = False
            raise self.exit()


class TaskResignation(Resignation):
    """For a task whose loop runs in the main thread: the signal cancels the task."""

    def __init__(self, signals: Sequence[signal.Signals]) -> None:
        import asyncio  # only where there is a loop already

        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._stop = TaskStop(self._task)
        self._cancelling = self._task.cancelling() if self._task else 0
        super().__init__(signals)

    def _act(self) -> None:
        # A handler runs between two bytecodes of whatever the loop is doing: not the place to
        # cancel a task. This also wakes a loop that sleeps.
        self._loop.call_soon_threadsafe(self._stop.fire)

    def disarm(self, error: BaseException | None) -> None:
        """From now on only remember a signal; ``error`` is what comes out of the body."""
        self._stop.disarm(error)

    @property
    def due(self) -> bool:
        """Whether a signal asked to end, and nobody else has cancelled the task meanwhile."""
        cancelling = self._task.cancelling() if self._task else 0
        return bool(self.signum) and cancelling <= self._cancelling
