"""What a command prints, passed on as it comes and kept up to a limit: for ``holdfast once``.

A thread per stream reads from a pipe, keeps a copy, and hands everything to an ``Outlet``, which
writes it to our own stream. What is kept must not depend on who was looking, so the copy is
complete soon after the command has ended; who reads our stream may take longer, or have gone away.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import termios
import threading
from math import inf
from types import TracebackType
from typing import Self

from holdfast import clock
from holdfast.cli.outlet import Outlet
from holdfast.cli.signals import ENDING, Inbox, Interrupted
from holdfast.cli.terminal import suspend

LIMIT = 256 * 1024
"""How many bytes of each stream are kept."""

PATIENCE = 1.0
"""How long we wait for the end of an empty pipe: a process that left the group may keep it open."""

CHUNK = 65_536

LOOK = 1.0
"""How long we sleep at most while our own reader takes its time."""


class Pump:
    """One stream: from a pipe of the command's into the copy, and to an outlet."""

    def __init__(self, outlet: Outlet) -> None:
        self.kept = bytearray()
        self.cut = False
        self.outlet = outlet
        self._readable, self.writable = os.pipe()
        self._told, self._tell = os.pipe()  # closed to tell the thread that the command has ended
        self._ended = False
        self._thread = threading.Thread(target=self._turn, name="pump", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Say that the command has ended. Whoever left its group may still write."""
        if not self._ended:
            self._ended = True
            self.outlet.unbound()
            os.close(self._tell)
            os.close(self.writable)

    def wait(self) -> None:
        """Wait until the copy is complete."""
        self._thread.join()

    def _turn(self) -> None:
        try:
            self._read_along()
            self._read_rest()
        finally:
            os.close(self._readable)
            os.close(self._told)
            self.outlet.finish()

    def _read_along(self) -> None:
        """Read while the command runs. A slow reader of ours makes it wait, as without us."""
        poll = select.poll()
        poll.register(self._readable, select.POLLIN)
        poll.register(self._told, 0)
        while not self._ended:
            if any(descriptor == self._readable for descriptor, _ in poll.poll()):
                self._take()
                self.outlet.wait_for_room()

    def _read_rest(self) -> None:
        """Read what the command has left in the pipe, and for a moment what others still write."""
        left = _waiting_in(self._readable)
        while left > 0:
            left -= self._take()
        poll = select.poll()
        poll.register(self._readable, select.POLLIN)
        give_up_at, most = clock.now() + PATIENCE, LIMIT
        while poll.poll(max(0.0, give_up_at - clock.now()) * 1000):
            if (size := self._take()) == 0:
                return
            most -= size
            if most <= 0:  # it goes on and on
                self.cut = True
                return

    def _take(self) -> int:
        chunk = os.read(self._readable, CHUNK)
        room = LIMIT - len(self.kept)
        self.kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room
        self.outlet.put(chunk)
        return len(chunk)


def _waiting_in(pipe: int) -> int:
    """Count the bytes that can be read at once."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Capture:
    """Both streams of a command; a context manager that ends when everything is passed on."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.hurry = False  # whether we were asked to end: then our reader is not waited for long

    def __enter__(self) -> Self:
        self.stdout, self.stderr = (Pump(Outlet(to, LIMIT, self._inbox.ring)) for to in (1, 2))
        return self

    @property
    def output(self) -> tuple[int, int]:
        """Where the command has to write to."""
        return self.stdout.writable, self.stderr.writable

    def complete(self) -> None:
        """Come back when the copies are complete; the command must have ended."""
        pumps = (self.stdout, self.stderr)
        for pump in pumps:
            pump.finish()
        for pump in pumps:
            pump.wait()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.complete()
        outlets = (self.stdout.outlet, self.stderr.outlet)
        until = clock.now() + PATIENCE if self.hurry else inf
        while not all(outlet.ended for outlet in outlets) and (left := until - clock.now()) > 0:
            for signum in self._inbox.wait(min(LOOK, left)):
                if signum in ENDING:
                    raise Interrupted(signum)
                if signum == signal.SIGTSTP:
                    suspend(whole_job=False)
