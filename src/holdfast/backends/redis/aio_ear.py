"""The inbox of an async client: heard on the loop's own line, without the keeper's help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.backends.redis.ear import KeeperWire
from holdfast.backends.redis.inboxes import MISSED, OPENED, complain, unconfirmed
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
        self._channel = address
        self._keeper = keeper
        self._shown = shown
        self._deliver = deliver
        self._waker = Waker()
        self._lines = lines
        lines.hear = self._hear
        lines.deaf = self._was_deaf
        # The channel; with a question mark until somebody has listened everywhere: nobody is sure.
        self.address = address if lines.start_listening(address) else f"{address}?"

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
        notice = read_notice(self._channel, payload)
        if notice is not None:
            self._deliver(
                unconfirmed(notice) if self._keeper.inboxes.waits_for_replicas else notice
            )

    def _was_deaf(self, refusal: str) -> None:
        unsure = self.address.endswith("?")  # and so was every claim: nobody was passed over
        if refusal:
            complain(self._shown, refusal)
            self.address = ""
        elif unsure and self._lines.heard_all():
            self.address = self._channel
        self._deliver(OPENED if unsure else MISSED)
