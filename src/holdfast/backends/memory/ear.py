"""The inbox of a client in this process: notices come by a call, on the teller's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.backends.memory.space import Space
from holdfast.backends.waking import Waker
from holdfast.rules.messages import Notice
from holdfast.values import Holder


class Sleeps(Protocol):
    """What the keeper sleeps on: a ``Waker``, or what a test has put in its place."""

    def sleep(self, until: float) -> None:
        """Block until woken, or until ``until``."""
        ...

    def wake(self) -> None:
        """Make ``sleep`` return, now or next time."""
        ...


class MemoryEar:
    """Only waits to be woken: ``deliver`` has done the hearing already."""

    def __init__(
        self,
        space: Space,
        holder: Holder,
        deliver: Callable[[Notice], None],
        waker: Sleeps | None = None,
    ) -> None:
        self.address = holder.client
        self._space = space
        self._waker = waker or Waker()
        space.inboxes[holder.client] = deliver

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until woken or until ``until``."""
        self._waker.sleep(until)
        return ()

    def wake(self) -> None:
        """Make ``listen`` return."""
        self._waker.wake()

    def close(self) -> None:
        """Take the address off the space."""
        self._space.inboxes.pop(self.address, None)

    def forget(self) -> None:
        """Nothing to do: the space itself is left behind at a fork."""

    def lifeline(self) -> int | None:
        """Nobody outlives this process, so nobody needs to know."""
        return None
