"""``holdfast run``: a command under a lock, with its signals, exit codes and loss done right.

The story: is there anything to do, take the lock, is there still anything to do, start the command
under a full lease, attend it, give the lock back when nothing of it is left. How a command is
started and signalled is in ``child``, the loop beside it in ``attend``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from holdfast.api.lease import Lease
from holdfast.cli import codes, options
from holdfast.cli.attend import Untethered
from holdfast.cli.child import CannotStart
from holdfast.cli.connect import connect
from holdfast.cli.report import say
from holdfast.cli.signals import Inbox
from holdfast.cli.stage import Stage, Stopped
from holdfast.cli.tether import SHARE, LeaseTether
from holdfast.errors import LockBusy
from holdfast.values import printable

FULL = 2 / 3
"""A lease with less than this share of its life left was handed over and not yet filled up."""


@click.command("run")
@options.name
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.waiting
@options.ttl
@click.option(
    "--max-hold",
    type=options.positive_span,
    metavar="DURATION",
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
    life = ttl if max_hold is None else min(ttl, max_hold)
    with Inbox() as inbox, Stage(inbox) as stage:
        try:
            if unless is not None and stage.ask(unless, Untethered(life * SHARE)):
                return codes.DONE
            with connect(url, label or printable(Path(command[0]).name)) as client:
                lock = client.lock(name, ttl=ttl, wait=wait, max_hold=max_hold, on_loss="flag")
                with inbox.interrupting():
                    lease = lock.acquire()
                with lease, _inheritable(client.lifeline()) as stage.keep_open:
                    if lease.remaining < life * FULL:
                        lease.extend(ttl)
                    code = _under(lease, life, unless, command, stage)
                return codes.LOST if lease.lost else code
        except LockBusy as error:
            say(error.message)
            return busy_code
        except CannotStart as error:
            say(str(error))
            return error.code
        except Stopped:
            return codes.LOST


def _under(
    lease: Lease, life: float, unless: str | None, command: Sequence[str], stage: Stage
) -> int:
    """Run ``command`` under ``lease``, whose full life is ``life``; give the exit code."""
    lease.on_lost(stage.inbox.ring)
    tether = LeaseTether(lease, life)
    if unless is not None and stage.ask(unless, tether):
        return codes.DONE
    stage.env = {**os.environ, "HOLDFAST_NAME": lease.name, "HOLDFAST_TOKEN": str(lease.token)}
    code = stage.perform(command, tether)
    if lease.lost:  # we were paused, and cannot know whether the command ended in time
        say(tether.why())
    return code


@contextmanager
def _inheritable(descriptor: int | None) -> Iterator[tuple[int, ...]]:
    """Copy a descriptor for a child: the library closes its own one in every fork."""
    if descriptor is None:
        yield ()
        return
    copy = os.dup(descriptor)
    try:
        yield (copy,)
    finally:
        os.close(copy)
