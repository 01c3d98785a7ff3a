"""The connection on which a client of threads listens, and who has it.

The keeper asks on it, and whoever waits in line may read it meanwhile (``backends.lookout``). libpq
lets one thread at a time use a connection, and one that is closed under a reader is a crash, not an
error. So each has a lock of its own for as long as it lives: the keeper has it for an exchange, the
others for one look. Nobody but who has it hangs up. One that is not let go of is left as it is, and
is hung up when its last user drops it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.backends.postgres.link import Link
from holdfast.backends.postgres.replies import read_notice
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Notice

STUCK = 0.1
"""A look takes microseconds: whoever takes so long was torn away in the middle of it."""


class Inbox:
    """One listening connection; made by the keeper, who has it then."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._using = threading.RLock()  # of all locks the one that knows whose it is
        self._using.acquire()
        self._torn = False  # somebody reads; if it stays so, a notice may have been lost with him
        self._left = False  # somebody did not let go of it: it is his

    def fileno(self) -> int:
        """Say where something can be heard; -1 when nothing can any more. Safe on any thread."""
        return -1 if self._left else self.link.fileno()

    # On the keeper's thread

    def take(self) -> bool:
        """Have the connection for oneself, if it is still good."""
        if not self._using.acquire(timeout=STUCK):
            self._left = True
            return False
        if self._torn:
            self.link.close()
        if self.fileno() >= 0:
            return True
        self._using.release()
        return False

    def read(self) -> list[Notice]:
        """Read what has come; who has it may. Raise if it was the end."""
        self.link.take_in()
        return self.put_aside()

    def put_aside(self) -> list[Notice]:
        """Give the notices that came between other things."""
        heard, self.link.heard = self.link.heard, []
        notices = [read_notice(channel, payload) for channel, payload in heard]
        return [notice for notice in notices if notice is not None]

    def let_go(self) -> None:
        """Let others have it."""
        self._using.release()

    def close(self) -> None:
        """Hang up, and let go."""
        self.link.close()
        self._using.release()

    # On the thread of a caller

    def overhear(self, limit: float, deliver: Callable[[Notice], None]) -> None:
        """Read what has come, and deliver it, on a thread that may be interrupted anywhere.

        So nobody believes that it has finished before it says so itself.
        """
        using = self._using
        try:
            if not using.acquire(timeout=limit) or self.fileno() < 0:
                return
            if self._torn:
                self.link.close()
                return
            self._torn = True
            try:
                notices = self.read()
            except BackendUnavailable:
                self.link.close()
                return
            for notice in notices:
                deliver(notice)
            self._torn = False
        finally:
            try:  # noqa: SIM105 - a caller waits for this, and suppress takes three calls
                using.release()
            except RuntimeError:  # it was never ours
                pass
