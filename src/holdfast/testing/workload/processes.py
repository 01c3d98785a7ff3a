"""Two ways to start a worker's process: as a program, or, where that is safe, as a cheap fork.

Both give what a crew needs of ``subprocess.Popen``. A fork costs a hundredth of a program's start
and is for crews that kill many; it must be made by a process without threads and without clients.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

PROGRAM = (sys.executable, "-m", "holdfast.testing.workload")
LOOK_EVERY = 0.002


class Process(Protocol):
    """The part of ``Popen`` that a crew uses."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """Give the exit code if it has ended."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; ``subprocess.TimeoutExpired`` if it does not come."""
        ...

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        ...

    def kill(self) -> None:
        """Send it SIGKILL, unless it has ended."""
        ...


def spawned(log: Path, program: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Start a worker as a program; ``log`` gets its stderr."""
    with log.open("wb") as stderr:
        return subprocess.Popen(  # noqa: S603 - our own program
            program,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,  # says nothing; its end tells that forked children are gone
            stderr=stderr,
            process_group=0,  # Ctrl-C is for whoever runs the crew
        )


class Forked:
    """A worker that was forked off this very process."""

    def __init__(self, log: Path, main: Callable[[], None]) -> None:
        orders, self_orders = os.pipe()
        self_words, words = os.pipe()
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become_worker(orders, words, log, main)
        os.close(orders)
        os.close(words)
        self.stdin: IO[bytes] | None = os.fdopen(self_orders, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(self_words, "rb")

    def poll(self) -> int | None:
        """Give the exit code if it has ended."""
        if self._code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if ended else None
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        give_up_at = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if give_up_at is not None and time.monotonic() > give_up_at:
                raise subprocess.TimeoutExpired(PROGRAM, timeout or 0.0)
            time.sleep(LOOK_EVERY)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Send it SIGKILL, unless it has ended."""
        self.send_signal(9)


def _become_worker(orders: int, words: int, log: Path, main: Callable[[], None]) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        os.dup2(orders, 0)
        os.dup2(words, 1)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT, 0o600), 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # above all the stdin of other workers
        sys.stdin, sys.stderr = os.fdopen(0), os.fdopen(2, "w", buffering=1)
        main()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing of the crew's may run in here
        traceback.print_exc()
    finally:
        os._exit(code)
