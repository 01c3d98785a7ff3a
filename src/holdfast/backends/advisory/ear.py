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
from holdfast.backends.waking import LONGEST
from holdfast.rules.messages import Notice

_ENDED = select.POLLIN | getattr(select, "POLLRDHUP", 0)


class Ear:
    """Sleeps until one of the sessions has something to say, or until woken."""

    def __init__(self, desk: Desk, address: str) -> None:
        self.address = address
        self._desk = desk
        self._bell, self._clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._clapper, False)
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

    def wake(self) -> None:
        """Ring one's own bell; a full pipe is awake anyway."""
        with suppress(OSError):
            os.write(self._clapper, b"\0")

    def close(self) -> None:
        """Stop watching; a desk that nobody needs any more is closed."""
        self._close_pipe()
        if self._desk.deserted:
            self._desk.close()

    def forget(self) -> None:
        """In a forked child: the sessions are the parent's, so their copies are let go of."""
        self._close_pipe()
        self._desk.ledger.sessions.disown()

    def lifeline(self) -> int | None:
        """Give none: the server itself sees that a session has ended."""
        return None

    def _close_pipe(self) -> None:
        bell, self._bell = self._bell, -1
        clapper, self._clapper = self._clapper, -1
        for end in (bell, clapper):
            if end >= 0:
                os.close(end)
