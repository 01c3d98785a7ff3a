"""A person at a terminal of their own: presses keys, and reads what the screen shows."""

import os
import re
import select
import signal
import subprocess
import sys

from tests.cli.shell import PATIENCE, Shell

ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes a program whose stdin is its controlling terminal, as after a login."""


class Keyboard:
    """A terminal with a person in front of it."""

    def __init__(self, shell: Shell, *command: str) -> None:
        self._master, terminal = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_TERMINAL, *command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=shell.folder,
            env={**shell.env, "PS1": "$ ", "HISTFILE": ""},
            start_new_session=True,
        )
        os.close(terminal)
        self._screen = ""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def read(self, pattern: str) -> str:
        """Wait until the screen shows it, and give its last group; then look further on."""
        while (found := re.search(pattern, self._screen)) is None:
            ready, _, _ = select.select([self._master], [], [], PATIENCE)
            assert ready, f"no {pattern!r} on the screen: {self._screen!r}"
            self._screen += os.read(self._master, 4096).decode()
        self._screen = self._screen[found.end() :]
        return str(found[found.re.groups])

    def close(self) -> None:
        """Go away."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)
