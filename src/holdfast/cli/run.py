"""``holdfast run``: a command under a lock, with its signals, exit codes and loss done right.

The story: is there anything to do, take the lock, is there still anything to do, start the command
under a full lease, attend it, give the lock back when nothing of it is left. What a lease means to
a command is in ``leased``; how one is started and signalled in ``child``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from holdfast.cli import codes, leased, options
from holdfast.cli.attend import Untethered
from holdfast.cli.child import CannotStart
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import say
from holdfast.cli.share import Share, sharing
from holdfast.cli.signals import Inbox
from holdfast.cli.slotted import Terms, in_slot
from holdfast.cli.stage import Stage, Stopped
from holdfast.cli.tether import SHARE, full_life
from holdfast.errors import LockBusy
from holdfast.values import printable


@click.command("run")
@options.name
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.waiting
@sharing
@options.ttl
@click.option(
    "--max-hold",
    type=options.positive_span,
    metavar="DURATION",
    help="The longest the command may run; then it is stopped (70).",
)
@click.option(
    "--per",
    type=options.positive_span,
    metavar="DURATION",
    help="Run once per slot of this length of the backend's clock, in whichever copy comes first; "
    "when that is done, there is nothing to do (0).",
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
@options.where
def command(  # noqa: PLR0911 - one for each way in which it can end
    *,
    name: str,
    command: Sequence[str],
    wait: float | None,
    share: Share,
    ttl: float,
    max_hold: float | None,
    per: float | None,
    unless: str | None,
    label: str | None,
    busy_code: int,
    where: Where,
) -> int:
    """Run CMD while holding the lock NAME.

    The exit code is CMD's own. Signals are passed on to it and to everything it has started; none
    of it is left behind. CMD finds the lock's fencing token in $HOLDFAST_TOKEN, and with --permits
    its own slot in $HOLDFAST_SLOT.
    """
    asking = Untethered(full_life(ttl, max_hold) * SHARE)
    with Inbox() as inbox, Stage(inbox) as stage:
        try:
            if unless is not None and stage.ask(unless, asking):
                return codes.DONE
            with connect(where, label or printable(Path(command[0]).name)) as client:
                if per is not None:
                    if share != Share():
                        raise click.UsageError(
                            "--per lets one run at a time: without --shared,"
                            " --exclusive and --permits."
                        )
                    terms = Terms(ttl=ttl, wait=wait, max_hold=max_hold)
                    return in_slot(client, name, per, terms, unless, command, stage)
                claim = share.claim(client, name, ttl=ttl, wait=wait, max_hold=max_hold)
                with inbox.interrupting():
                    lease = claim()
                with lease, leased.inheritable(client.lifeline()) as stage.keep_open:
                    tether = leased.tether(lease, ttl, max_hold, stage)
                    if unless is not None and stage.ask(unless, tether):
                        return codes.DONE
                    code = leased.perform(lease, tether, command, stage)
                return codes.LOST if lease.lost else code
        except LockBusy as error:
            say(error.message)
            return busy_code
        except CannotStart as error:
            say(str(error))
            return error.code
        except Stopped:
            return codes.LOST
