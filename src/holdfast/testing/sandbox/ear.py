"""The inbox of a client in a sandbox: deaf while the client is cut off, and seen when it sleeps."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.backends.memory.ear import MemoryEar
from holdfast.rules.messages import Notice
from holdfast.testing.sandbox.ground import Ground
from holdfast.testing.sandbox.rest import Seat
from holdfast.values import Holder


class SeatWaker:
    """What a keeper sleeps on: its seat's alarm, on the sandbox's time."""

    def __init__(self, ground: Ground, seat: Seat) -> None:
        self._ground = ground
        self._seat = seat

    def sleep(self, until: float) -> None:
        """Block until woken, or until ``until``."""
        self._seat.thread = threading.current_thread()
        self._ground.time.sleep(self._seat.alarm, until)

    def wake(self) -> None:
        """Make ``sleep`` return."""
        self._seat.alarm.ring()


class SandboxEar(MemoryEar):
    """Hears what the memory backend tells, unless the client is cut off."""

    def __init__(self, ground: Ground, holder: Holder, deliver: Callable[[Notice], None]) -> None:
        self._ground = ground
        self._deliver = deliver
        seat = ground.time.rest.seat(holder.client, str(holder))
        super().__init__(ground.space, holder, self._hear, SeatWaker(ground, seat))
        ground.ears[holder.client] = deliver

    def _hear(self, notice: Notice) -> None:
        if self._ground.conditions.outage(self.address) is None:
            self._deliver(notice)

    def close(self) -> None:
        """Take the address off the space, and leave the keeper's seat."""
        super().close()
        self._ground.ears.pop(self.address, None)
        self._ground.time.rest.leave(self.address)
