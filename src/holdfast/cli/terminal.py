"""The terminal, lent to the command while it runs, as a shell lends it to its jobs.

The command has a process group of its own; without the terminal it could not read the keyboard,
and Ctrl-C would reach only us. So it gets the terminal at once where it is the only one to use it,
and otherwise (``holdfast run … | less``) when it asks for it by reading.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Self


class Terminal:
    """The controlling terminal, if we are in its foreground or may come to be."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lent_to: int | None = None
        # Whoever sets the foreground group from the background is stopped by this one.
        self._before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    @classmethod
    def find(cls) -> Self | None:
        """Open the controlling terminal; a job of cron or systemd has none."""
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        except OSError:
            return None

    @property
    def ours(self) -> bool:
        """Whether we are in the foreground, so that it is ours to lend."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # hung up
            return False

    @property
    def undivided(self) -> bool:
        """Whether nobody else in our own group is likely to use it: we are in no pipeline."""
        return self.ours and os.isatty(0) and os.isatty(1)

    def lend(self, group: int) -> bool:
        """Put the command's group into the foreground if that is ours; say whether it is there."""
        if self.ours:
            self._put_in_front(group)
            self._lent_to = group
        return self._lent_to == group and not self.ours

    def prepare_child(self, *, lend: bool) -> None:
        """Do in the child what must be done before its program can read."""
        if lend:
            self._put_in_front(os.getpgrp())
        signal.signal(signal.SIGTTOU, self._before)

    def lent(self, group: int) -> None:
        """Take note that a child has put itself in front."""
        self._lent_to = group

    def take_back(self) -> bool:
        """Return to the foreground, and say whether it was lent.

        A shell that has meanwhile put somebody else there is not disturbed.
        """
        lent_to, self._lent_to = self._lent_to, None
        with contextlib.suppress(OSError):
            if lent_to is not None and os.tcgetpgrp(self._descriptor) == lent_to:
                self._put_in_front(os.getpgrp())
        return lent_to is not None

    def take_back_from_nobody(self) -> None:
        """Return to the foreground after a child that could not start."""
        self._put_in_front(os.getpgrp())

    def close(self) -> None:
        """Take it back and let go of it."""
        self.take_back()
        signal.signal(signal.SIGTTOU, self._before)
        os.close(self._descriptor)

    def _put_in_front(self, group: int) -> None:
        with contextlib.suppress(OSError):  # hung up
            os.tcsetpgrp(self._descriptor, group)


def suspend(*, whole_job: bool) -> None:
    """Stop like any job, and return when the shell continues us.

    In a session without job control the kernel ignores the wish, and we return at once.
    """
    before = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    if before == signal.SIG_IGN:
        return
    if whole_job:  # the script around us, which the keyboard did not reach; it passes us by
        os.killpg(0, signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTSTP)  # to this very thread: nothing runs on until we are back
    signal.signal(signal.SIGTSTP, before)
