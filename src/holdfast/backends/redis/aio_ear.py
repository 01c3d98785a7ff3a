"""The inbox of an async client: heard on the loop's own line, without the keeper's help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.backends.redis.ear import KeeperWire
from holdfast.backends.redis.inboxes import MISSED, complain, unconfirmed
from holdfast.backends.redis.replies import read_notice
from holdfast.backends.redis.switchboard import Switchboard
from holdfast.backends.waking import Waker
from holdfast.rules.messages import Notice


class AioEar:
    """Only waits to be woken: the line delivers what it hears."""

    def __init__(
        self,
        lines: Switchboard,
        keeper: KeeperWire,
        address: str,
        shown: str,
        deliver: Callable[[Notice], None],
    ) -> None:
        self.address = address
        self._keeper = keeper
        self._shown = shown
        self._deliver = deliver
        self._waker = Waker()
        self._lines = lines
        lines.hear = self._hear
        lines.deaf = self._was_deaf
        lines.start_listening(address)

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until woken or until ``until``."""
        self._lines.see_to_inboxes()
        self._waker.sleep(self._keeper.look_around(until))
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

    def _hear(self, payload: bytes) -> None:
        notice = read_notice(self.address, payload)
        if notice is not None:
            self._deliver(
                unconfirmed(notice) if self._keeper.inboxes.waits_for_replicas else notice
            )

    def _was_deaf(self, refusal: str) -> None:
        if refusal:
            complain(self._shown, refusal)
            self.address = ""
        self._deliver(MISSED)
