"""Attending a command until nothing of its process group is left: the main thread's one loop.

It passes signals on, follows the command when it is suspended, cleans up what the command leaves
behind, and stops everything before the lease can end:

    what happens                      SIGTERM            SIGKILL
    the command has ended             to what is left    after the grace
    the lease nears its end           at once            after the grace, still within the lease
    the lease was marked broken       at once            after the grace, at its end at the latest
    the lease is over                 (none)             at once

Knows the lease only as a ``Tether``; how processes are signalled is in ``child``.
"""

from __future__ import annotations

import signal
from math import inf
from typing import Protocol

from holdfast import clock
from holdfast.cli import codes
from holdfast.cli.child import Child
from holdfast.cli.report import say
from holdfast.cli.signals import ENDING, PASSED, Inbox
from holdfast.cli.terminal import Terminal, suspend

LOOK = 1.0
"""How long we sleep at most: timers stop while the host sleeps, the lease's clock does not."""

SETTLING = 0.02
"""How often we look after a SIGKILL: members that are not our children do not tell us their end."""

_KEYS = (signal.SIGINT, signal.SIGQUIT)
_JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


class Tether(Protocol):
    """What limits the life of a command."""

    @property
    def grace(self) -> float:
        """How long from asking the group to end until it is ended."""

    @property
    def margin(self) -> float:
        """How long before its end everything has to be gone."""

    def left(self) -> float:
        """Seconds until its end; 0 or less when it is over."""

    def broken(self) -> bool:
        """Whether it will not be prolonged any more."""

    def why(self) -> str:
        """Say why the command has to be stopped."""


class Untethered:
    """For a command that runs without a lease."""

    margin = 0.0

    def __init__(self, grace: float) -> None:
        self.grace = grace

    def left(self) -> float:
        """Seconds until its end: never."""
        return inf

    def broken(self) -> bool:
        """Nothing can break."""
        return False

    def why(self) -> str:
        """There is no reason to stop."""
        return ""


def must_stop(tether: Tether) -> bool:
    """Whether a command has to end now in order to be gone in time."""
    return tether.broken() or tether.left() <= tether.grace + tether.margin


class Attendance:
    """One command being attended; afterwards, what came of it."""

    def __init__(
        self, child: Child, inbox: Inbox, tether: Tether, terminal: Terminal | None = None
    ) -> None:
        self.child = child
        self.lost = False
        self.asked_to_end: int | None = None
        self.at_keyboard = False  # whether the terminal was lent to the command when it ended
        self._inbox = inbox
        self._tether = tether
        self._terminal = terminal
        self._kill_at = inf  # -inf: it has been done
        self._out_of_reach = False
        self._continue = False

    @property
    def ended_by_key(self) -> int | None:
        """The signal of a key (Ctrl-C's, say) that ended the command; a key does not reach us.

        A shell says it with its code. Without a terminal such a code is a code like any other.
        """
        signum = self.child.code - codes.SIGNALLED
        return signum if self.at_keyboard and signum in _KEYS else None

    def see_out(self) -> None:
        """Return when nothing of the group is left."""
        while not self.child.reap():
            self._stop_if_due()
            self._follow_suspension()
            if self.child.ended and self._out_of_reach:
                return
            for signum in self._inbox.wait(self._until_next()):
                self._pass_on(signum)

    def _stop_if_due(self) -> None:
        tether, left, now = self._tether, self._tether.left(), clock.now()
        if not self.lost and must_stop(tether):
            self.lost = True
            say(f"stopping the command: {tether.why()}")
        if not self.lost and not self.child.ended:
            return
        if left <= tether.margin or now >= self._kill_at:
            # Without a SIGCONT, which it does not need: what is stopped never runs again.
            self._kill_at = -inf
            if not self.child.kill() and not self._out_of_reach:
                self._out_of_reach = True
                say("cannot stop all of the command: it runs as another user")
        elif self._kill_at == inf:
            self._kill_at = now + tether.grace
            self.child.terminate()

    def _until_next(self) -> float:
        """Seconds until something is due, if nothing happens before."""
        if self._kill_at == -inf:
            return SETTLING
        tether, left = self._tether, self._tether.left()
        if self._kill_at == inf:
            return min(LOOK, left - tether.grace - tether.margin)
        return min(LOOK, left - tether.margin, self._kill_at - clock.now())

    def _pass_on(self, signum: int) -> None:
        if signum == signal.SIGCONT:
            self._continue = True  # not before the lease has been looked at
        elif signum == signal.SIGTSTP or signum in PASSED:
            if not self.child.signal(signum):
                say("cannot pass the signal on: the command runs as another user")
            if signum in ENDING:
                self.asked_to_end = self.asked_to_end or signum

    def _follow_suspension(self) -> None:
        """Suspend ourselves with the command, and continue it when we are continued.

        Nobody renews the lease meanwhile, and the command does not run meanwhile either: it is
        continued only if the lease is still good.
        """
        stopped_by, self.child.stopped_by = self.child.stopped_by, None
        if stopped_by in _JOB_CONTROL:
            asks_to_read = stopped_by != signal.SIGTSTP
            terminal = self._terminal
            if not (asks_to_read and terminal is not None and terminal.lend(self.child.group)):
                had_keyboard = terminal is not None and terminal.take_back()
                suspend(whole_job=had_keyboard or asks_to_read)
                self._stop_if_due()
            self._continue = True
        if self._continue and self._kill_at == inf:
            self._continue = False
            if self._terminal is not None and self._terminal.undivided:
                self._terminal.lend(self.child.group)
            self.child.signal(signal.SIGCONT)
