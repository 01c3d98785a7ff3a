"""``holdfast run``: a command under a lock, with its signals, exit codes and loss done right.

The story: is there anything to do, take the lock, is there still anything to do, start the command
under a full lease, attend it, give the lock back when nothing of it is left. How a command is
started and signalled is in ``child``, the loop beside it in ``attend``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from holdfast.api.client import Client
from holdfast.api.lease import Lease
from holdfast.cli import codes, kernel, options
from holdfast.cli.attend import Attendance, Tether, Untethered
from holdfast.cli.child import CannotStart, Child
from holdfast.cli.connect import connect
from holdfast.cli.report import say
from holdfast.cli.signals import Inbox, Interrupted
from holdfast.cli.terminal import Terminal
from holdfast.cli.tether import SHARE, LeaseTether
from holdfast.errors import LockBusy

FULL = 2 / 3
"""A lease with less than this share of its life left was handed over and not yet filled up."""


@click.command("run")
@options.name
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.waiting
@options.ttl
@click.option(
    "--max-hold",
    type=options.DurationParam(),
    help="The longest the command may run; then it is stopped (70).",
)
@click.option(
    "--unless",
    metavar="CMD",
    help="A shell command that says with 0 that there is nothing to do; asked before and after "
    "waiting for the lock.",
)
@options.label
@click.option(
    "--busy-code",
    type=click.IntRange(0, 255),
    default=codes.BUSY,
    show_default=True,
    help="The exit code when somebody else holds the lock.",
)
@options.url
def command(
    *,
    name: str,
    command: Sequence[str],
    wait: float | None,
    ttl: float,
    max_hold: float | None,
    unless: str | None,
    label: str | None,
    busy_code: int,
    url: str | None,
) -> int:
    """Run CMD while holding the lock NAME.

    The exit code is CMD's own. Signals are passed on to it and to everything it has started; none
    of it is left behind. CMD finds the lock's fencing token in $HOLDFAST_TOKEN.
    """
    kernel.adopt_orphans()
    with Inbox() as inbox:
        life = ttl if max_hold is None else min(ttl, max_hold)
        stage = Stage(inbox, unless, life)
        try:
            if stage.nothing_to_do(Untethered(life * SHARE)):
                return codes.DONE
            with connect(url, label or Path(command[0]).name) as client:
                lock = client.lock(name, ttl=ttl, wait=wait, max_hold=max_hold, on_loss="flag")
                with inbox.interrupting():
                    lease = lock.acquire()
                return stage.play(client, lease, command)
        except LockBusy as error:
            say(error.message)
            return busy_code
        except CannotStart as error:
            say(str(error))
            return error.code
        except Interrupted as error:
            return codes.SIGNALLED + error.signum
        finally:
            stage.close()


class _Lost(Exception):
    """The lease ended under the command."""


class Stage:
    """Where commands are started: under a lease or before it, on the terminal if there is one."""

    def __init__(self, inbox: Inbox, unless: str | None, life: float) -> None:
        self._inbox = inbox
        self._unless = unless
        self._life = life
        self._terminal = Terminal.find()

    def play(self, client: Client, lease: Lease, command: Sequence[str]) -> int:
        """Run ``command`` under ``lease`` and release it; give the exit code."""
        try:
            with lease:
                if lease.remaining < self._life * FULL:
                    lease.extend(self._life)
                tether = LeaseTether(lease, self._life)
                lease.on_lost(self._inbox.ring)
                with _Lifeline(client) as lifeline:
                    if self.nothing_to_do(tether, lifeline):
                        return codes.DONE
                    env = {
                        **os.environ,
                        "HOLDFAST_NAME": lease.name,
                        "HOLDFAST_TOKEN": str(lease.token),
                    }
                    code = self._attended(command, tether, lifeline, env).child.code
        except _Lost:
            return codes.LOST
        return codes.LOST if lease.lost else code

    def nothing_to_do(self, tether: Tether, lifeline: Sequence[int] = ()) -> bool:
        """Ask ``--unless``; a signal that ends the question ends us too."""
        if self._unless is None:
            return False
        shell = ["/bin/sh", "-c", self._unless]
        attendance = self._attended(shell, tether, lifeline)
        if attendance.asked_to_end is not None:
            raise Interrupted(attendance.asked_to_end)
        return attendance.child.code == codes.DONE
