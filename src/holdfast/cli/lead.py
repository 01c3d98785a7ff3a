"""``holdfast lead``: of all hosts that run it, one has the command running; the others stand by.

The story, again and again: stand by until we lead, run the command under that lease, resign. When
the command ends by itself, whoever stands by starts it next, and we stand by again after a pause;
when the lease is lost the command is stopped before it can end, as ``run`` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from holdfast import clock
from holdfast.api.client import Client
from holdfast.cli import codes, leased, options
from holdfast.cli.child import CannotStart
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import say
from holdfast.cli.signals import ENDING, Inbox, Interrupted
from holdfast.cli.stage import Stage, Stopped
from holdfast.durations import readable
from holdfast.errors import BackendUnavailable
from holdfast.values import printable

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""How long we pause before we stand by again after the command has ended: doubled each time."""

STEADY = 60.0
"""A command that ran for so long is not one that fails over and over: its pauses start anew."""


@click.command("lead")
@options.name
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--once", is_flag=True, help="End with CMD's exit code when CMD ends.")
@options.ttl
@options.label
@options.where
def command(
    *,
    name: str,
    command: Sequence[str],
    once: bool,
    ttl: float,
    label: str | None,
    where: Where,
) -> int:
    """Keep one CMD running among all hosts that lead NAME.

    The others stand by. When CMD ends or its host is gone, another host starts it. Signals are
    passed on to CMD; TERM, INT, HUP and QUIT also end this command, after CMD has ended.
    """
    shown = label or printable(Path(command[0]).name)
    with Inbox() as inbox, Stage(inbox) as stage, connect(where, shown) as client:
        return _Candidate(client, name, command, ttl, stage).run(once=once)


class _Candidate:
    """One host's part in the election."""

    def __init__(
        self, client: Client, name: str, command: Sequence[str], ttl: float, stage: Stage
    ) -> None:
        self._client = client
        self._lead = client.lead(name, ttl=ttl, wait=None, on_loss="flag")
        self._command = command
        self._ttl = ttl
        self._stage = stage
        self._pause = SHORTEST_PAUSE
        self._answered = False  # whether the backend was ever there

    def run(self, *, once: bool) -> int:
        """Lead whenever we can, until we are asked to end."""
        while True:
            started_at = clock.now()
            try:
                code = self._term()
            except BackendUnavailable as error:
                if not self._answered:
                    raise
                ended = error.message
            except CannotStart as error:
                say(str(error))
                return error.code
            else:
                if once or self._asked_to_end():
                    return code
                ended = f"the command has ended with {code}"
            if clock.now() - started_at >= STEADY:
                self._pause = SHORTEST_PAUSE
            say(f"{ended}; standing by again in {readable(self._pause)}")
            self._rest()

    def _term(self) -> int:
        """Stand by, lead, resign; give the exit code of the command, or the one for a loss."""
        stage = self._stage
        with stage.inbox.interrupting():
            lease = self._lead.acquire()
        self._answered = True
        try:
            with lease, leased.inheritable(self._client.lifeline()) as stage.keep_open:
                tether = leased.tether(lease, self._ttl, None, stage)
                code = leased.perform(lease, tether, self._command, stage)
        except Stopped:
            return codes.LOST
        return codes.LOST if lease.lost else code

    def _asked_to_end(self) -> bool:
        """Whether a signal, or a key, has asked more than this one command to end.

        A key at the terminal goes to the command alone, and is meant for all of us. Who handles it
        and ends with a code of its own cannot be told from who ends by itself.
        """
        last = self._stage.last
        by_key = last is not None and last.ended_by_key is not None
        return by_key or self._stage.asked_to_end is not None

    def _rest(self) -> None:
        """Leave it to others for a while; a signal that asks us to end is heeded at once."""
        until = clock.now() + self._pause
        self._pause = min(LONGEST_PAUSE, self._pause * 2)
        while (left := until - clock.now()) > 0:
            for signum in self._stage.inbox.wait(left):
                if signum in ENDING:
                    raise Interrupted(signum)
