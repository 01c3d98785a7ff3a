"""Signals as messages: the main thread reads them from a pipe, together with other wake-ups.

A handler here does one of two things. While a claim waits, it raises ``Interrupted`` out of the
library, which then takes the claim back. At all other times it does nothing: the number is in the
pipe already, written by the interpreter itself, and is read when the main thread comes round to it.

A signal that was ignored when we started stays ignored, so that ``nohup holdfast run`` works. INT
and QUIT are the exception, as with timeout(1): a script's ``holdfast run … &`` inherits them
ignored only because it would share the script's process group, and our command has its own.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Self

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
PASSED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
HEARD = (*PASSED, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP)

_NEVER_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)
_RING = 0


class Interrupted(BaseException):
    """A signal asked us to end. Not an ``Exception``: nothing on the way may swallow it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Inbox:
    """Everything that can wake the main thread; a context manager that puts handlers back."""

    def __enter__(self) -> Self:
        self._raising = False
        self._readable, self._writable = os.pipe()
        os.set_blocking(self._readable, False)
        os.set_blocking(self._writable, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writable, warn_on_full_buffer=False)
        self._before = {
            signum: signal.signal(signum, self._handle)
            for signum in HEARD
            if signum in _NEVER_IGNORED or signal.getsignal(signum) != signal.SIG_IGN
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        # The pipe stays open: the keeper's thread may still ring, and a number may be used again.

    def ring(self) -> None:
        """Wake the main thread, from whichever thread."""
        with suppress(BlockingIOError):  # full: it will wake up anyway
            os.write(self._writable, bytes([_RING]))

    def wait(self, longest: float) -> list[int]:
        """Give the signals that came, waiting for the first one; none when it was only a ring."""
        ready, _, _ = select.select([self._readable], [], [], max(0.0, longest))
        return [number for number in self._read() if number != _RING] if ready else []

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal that asks us to end, also one that came before, interrupt what is inside."""
        try:
            self._raising = True
            self.raise_if_asked()
            yield
        finally:
            self._raising = False
        self.raise_if_asked()  # a finaliser may have swallowed the exception, never the byte

    def raise_if_asked(self) -> None:
        """Raise ``Interrupted`` if a signal has asked us to end."""
        for signum in self.wait(0):
            if signum in ENDING:
                raise Interrupted(signum)

    def _read(self) -> bytes:
        try:
            return os.read(self._readable, 4096)
        except BlockingIOError:
            return b""

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        if self._raising and signum in ENDING:
            self._raising = False  # one is enough: the clean-up that follows is not to be cut short
            raise Interrupted(signum)
