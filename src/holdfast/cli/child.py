"""One command and its process group: start it, signal it, see the last of it.

Knows nothing of locks. The group, not the child, is the unit: whatever the command starts without
leaving the group is signalled with it and must be gone before ``reap`` says so. Its counterpart,
which decides *when* to signal, is ``attend``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from typing import Self

from holdfast.cli import codes, kernel
from holdfast.cli.terminal import Terminal


class CannotStart(Exception):
    """The command could not be executed; ``code`` is what a shell would say."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Child:
    """A running command, the leader of a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.group = process.pid
        self.stopped_by: int | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
        terminal: Terminal | None = None,
        lend: bool = True,
        output: tuple[int, int] | None = None,
    ) -> Self:
        """Start ``command``, in front of the terminal if that is to be lent.

        Call it in the main thread: see ``kernel.dies_with_this_process``.
        """
        arrange_death = kernel.dies_with_this_process()
        lend = lend and terminal is not None and terminal.undivided
        stdout, stderr = output or (None, None)

        def before_exec() -> None:
            arrange_death()
            if terminal is not None:
                terminal.prepare_child(lend=lend)

        try:
            with warnings.catch_warnings():
                # From Python 3.12 on: fork() beside a thread. The child only makes system calls.
                warnings.simplefilter("ignore", DeprecationWarning)
                process = subprocess.Popen(  # noqa: S603 - the user's command is the purpose
                    command,
                    env=env,
                    stdout=stdout,
                    stderr=stderr,
                    pass_fds=keep_open,
                    process_group=0,
                    preexec_fn=before_exec,  # noqa: PLW1509 - system calls, no import, no lock
                )
        except OSError as error:
            if terminal is not None and lend:
                terminal.take_back_from_nobody()
            missing = isinstance(error, FileNotFoundError)
            code = codes.NOT_FOUND if missing else codes.NOT_EXECUTABLE
            raise CannotStart(f"cannot run {command[0]!r}: {error.strerror}", code) from error
        if terminal is not None and lend:
            terminal.lent(process.pid)
        return cls(process)

    @property
    def ended(self) -> bool:
        """Whether the command itself has ended; others of its group may still be there."""
        return self._process.returncode is not None

    @property
    def died_of(self) -> int | None:
        """The signal that ended it, if one did: then its code is no word of its own."""
        returncode: int | None = self._process.returncode
        return -returncode if returncode is not None and returncode < 0 else None

    @property
    def code(self) -> int:
        """The exit code of the command, once it has ended."""
        return codes.of_child(self._process.returncode)

    def reap(self) -> bool:
        """Take note of everyone that has ended or stopped; say whether the whole group is gone."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid != self.group:
                continue  # an orphan that we have adopted
            if os.WIFSTOPPED(status):
                self.stopped_by = os.WSTOPSIG(status)
            else:
                self._process.returncode = os.waitstatus_to_exitcode(status)
        return self.ended and not kernel.group_lives(self.group)

    def signal(self, signum: int) -> bool:
        """Signal the whole group; ``False`` when none of it is ours to signal."""
        try:
            os.killpg(self.group, signum)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return True

    def terminate(self) -> bool:
        """Ask the group to end, also those of it that are stopped."""
        return self.signal(signal.SIGTERM) and self.signal(signal.SIGCONT)

    def kill(self) -> bool:
        """End the group, without asking."""
        return self.signal(signal.SIGKILL)
