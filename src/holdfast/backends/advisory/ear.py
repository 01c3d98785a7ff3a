"""The keeper's watch over the client's sessions: who was granted, what was broken, what has ended.

There is no inbox on the server: a lock that is granted, and a session that ends, are heard on the
session itself. What is heard goes to the book at once, so ``listen`` itself has nothing to give.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress

from holdfast import clock
from holdfast.backends.advisory.desk import Desk
from holdfast.backends.waking import LONGEST, PipedEar
from holdfast.rules.messages import Notice

_ENDED = select.POLLIN | getattr(select, "POLLRDHUP", 0)


class Ear(PipedEar):
    """Sleeps until one of the sessions has something to say, or until woken."""

    def __init__(self, desk: Desk, address: str) -> None:
        super().__init__()
        self.address = address
        self._desk = desk
        desk.ledger.wake = self.wake
        desk.watched = True

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is heard, until woken, or until ``until``."""
        desk = self._desk
        desk.look_after()
        sessions = {session.fileno(): session for session in desk.sessions()}
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        for descriptor in sessions:
            if descriptor >= 0:
                poll.register(descriptor, _ENDED)
        delay = min(max(0.0, min(until, desk.next_end()) - clock.now()), LONGEST)
        for descriptor, _ in poll.poll(delay * 1000 + 0.999):
            if descriptor == self._bell:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
            else:
                sessions[descriptor].take_in()
        desk.look_after()
        return ()

    def close(self) -> None:
        """Stop watching; a desk that nobody needs any more is closed."""
        super().close()
        if self._desk.deserted:
            self._desk.close()

    def forget(self) -> None:
        """In a forked child: the sessions are the parent's, so their copies are let go of."""
        super().forget()
        self._desk.ledger.sessions.disown()
