"""The inbox of an async client: heard on the loop's own line, without the keeper's help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.backends.postgres.ear import MISSED, KeeperWire, Readiness
from holdfast.backends.postgres.line import Line
from holdfast.backends.postgres.replies import read_notice
from holdfast.backends.waking import Waker
from holdfast.rules.messages import Notice


class AioEar:
    """Only waits to be woken: the line delivers what it hears."""

    def __init__(
        self, line: Line, keeper: KeeperWire, address: str, deliver: Callable[[Notice], None]
    ) -> None:
        self._line = line
        self._readiness = Readiness(keeper)
        self._deliver = deliver
        self._waker = Waker()
        line.hear = self._hear
        line.deaf = lambda: deliver(MISSED)
        line.start_listening(address)

    @property
    def address(self) -> str:
        """The channel; with a question mark while nobody listens there yet, so nobody is sure."""
        line = self._line
        return line.channel if line.hears or not line.channel else f"{line.channel}?"

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until woken or until ``until``."""
        self._waker.sleep(self._readiness.see_to_it(until))
        return ()

    def wake(self) -> None:
        """Make ``listen`` return."""
        self._waker.wake()

    def close(self) -> None:
        """Nothing of its own is open; the wire hangs up."""

    forget = close

    def lifeline(self) -> int | None:
        """Give none: a server cannot tell a dead client from a slow one before its lease ends."""
        return None

    def _hear(self, channel: str, payload: str) -> None:
        notice = read_notice(channel, payload)
        if notice is not None:
            self._deliver(notice)
