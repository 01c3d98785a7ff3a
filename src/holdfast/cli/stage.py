"""Where commands are performed: started only if their tether allows it, attended to their end.

The terminal is found once and goes back when everything is over. ``run`` is the story that is told
here; before its lock is taken the tether is an ``Untethered``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from holdfast.cli import kernel
from holdfast.cli.attend import Attendance, Tether, must_stop
from holdfast.cli.child import Child
from holdfast.cli.report import say
from holdfast.cli.signals import ENDING, Inbox, Interrupted
from holdfast.cli.terminal import Terminal


class Stopped(Exception):
    """The lease came to its end, so the command was stopped, or not even started."""


class Stage:
    """What every command performed here has in common; a context manager."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.env: Mapping[str, str] | None = None
        self.keep_open: Sequence[int] = ()
        self.asked_to_end: int | None = None  # by which signal, while a command was attended
        self.output: tuple[int, int] | None = None  # where stdout and stderr go, if not to ours
        self.last: Attendance | None = None  # what came of the last command
        self._terminal: Terminal | None = None

    def __enter__(self) -> Self:
        kernel.adopt_orphans()
        self._terminal = Terminal.find()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal is not None:
            self._terminal.close()

    def perform(self, command: Sequence[str], tether: Tether) -> int:
        """Run ``command`` until nothing of its process group is left; give its exit code."""
        return self._attended(command, tether).child.code

    def ask(self, question: str, tether: Tether) -> bool:
        """Run a shell command for its answer; a signal that ends the question ends us too.

        It is not lent the terminal until it reads: a Ctrl-C is meant for us, whatever the question
        makes of it, and where only the question heard it, its end has to tell.
        """
        attendance = self._attended(["/bin/sh", "-c", question], tether, lend=False)
        died_of = attendance.child.died_of
        heard = attendance.asked_to_end or attendance.ended_by_key
        if signum := heard or (died_of if died_of in ENDING else None):
            raise Interrupted(signum)
        return attendance.child.code == 0

    def _attended(self, command: Sequence[str], tether: Tether, *, lend: bool = True) -> Attendance:
        self.inbox.raise_if_asked()
        if must_stop(tether):
            say(f"not starting the command: {tether.why()}")
            raise Stopped
        child = Child.start(
            command,
            env=self.env,
            keep_open=self.keep_open,
            terminal=self._terminal,
            lend=lend,
            output=self.output,
        )
        attendance = self.last = Attendance(child, self.inbox, tether, self._terminal)
        try:
            attendance.see_out()
        except BaseException:
            child.kill()
            raise
        finally:
            if self._terminal is not None:
                attendance.at_keyboard = self._terminal.take_back()
        self.asked_to_end = self.asked_to_end or attendance.asked_to_end
        if attendance.lost:
            raise Stopped
        return attendance
