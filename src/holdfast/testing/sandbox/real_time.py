"""The time of a sandbox without a virtual clock: the real one, with its sleepers watched."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from holdfast import clock
from holdfast.ports import Runtime
from holdfast.testing.sandbox.rest import Alarm, Rest

LONGEST = 3600.0


class Time(Protocol):
    """What a sandbox asks of its time."""

    @property
    def rest(self) -> Rest:
        """Who is at work, and who sleeps."""
        ...

    @property
    def now(self) -> Callable[[], float]:
        """Read the clock of its holders."""
        ...

    @property
    def wall(self) -> Callable[[], float]:
        """Read the wall clock."""
        ...

    def sleep(self, alarm: Alarm, until: float) -> None:
        """Block until ``alarm`` is rung, or until ``until``."""
        ...

    def enter_loop(self) -> None:
        """Note that a task of the running loop asks for something."""
        ...

    def on_its_time(self, runtime: Runtime) -> Runtime:
        """Give ``runtime`` as it is on this time."""
        ...


class RealTime:
    """Seconds are seconds."""

    now = staticmethod(clock.now)
    wall = staticmethod(time.time)

    def __init__(self) -> None:
        self.rest = Rest()

    def sleep(self, alarm: Alarm, until: float) -> None:
        """Block until ``alarm`` is rung, or until ``until``."""
        self.rest.lie_down(alarm, until, min(max(0.0, until - clock.now()), LONGEST))

    def enter_loop(self) -> None:
        """Nobody waits for loops in real time."""

    def on_its_time(self, runtime: Runtime) -> Runtime:
        """Leave it as it is."""
        return runtime
