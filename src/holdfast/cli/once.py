"""``holdfast once``: a command whose outcome is kept, so that it is carried out once per key.

The story: is there an outcome, replay it; if not, run the command as ``run`` does, keep what it
printed and its exit code, and store that. Who comes meanwhile waits for it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from holdfast.api.once_run import OnceRun
from holdfast.cli import codes, leased, options
from holdfast.cli.capture import LIMIT, Capture
from holdfast.cli.child import CannotStart
from holdfast.cli.connect import Where, connect
from holdfast.cli.outlet import write_all
from holdfast.cli.report import say, writing
from holdfast.cli.signals import Inbox
from holdfast.cli.stage import Stage, Stopped
from holdfast.values import Json, printable


@click.command("once")
@click.argument("key", metavar="KEY")
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--keep",
    type=options.positive_span,
    metavar="DURATION",
    default="7d",
    help="How long the outcome is kept.  [default: 7d]",
)
@options.waiting
@click.option(
    "--payload",
    type=options.text,
    metavar="TEXT",
    help="What the key stands for; another payload under the same key is refused (1).",
)
@click.option("--store-failures", is_flag=True, help="Keep the outcome of a CMD that failed, too.")
@options.ttl
@click.option(
    "--max-hold",
    type=options.positive_span,
    metavar="DURATION",
    help="The longest the command may run; then it is stopped (70).",
)
@options.label
@options.where
def command(
    *,
    key: str,
    command: Sequence[str],
    keep: float,
    wait: float | None,
    payload: str | None,
    store_failures: bool,
    ttl: float,
    max_hold: float | None,
    label: str | None,
    where: Where,
) -> int:
    """Run CMD once for KEY; later calls print what it printed and end with its code.

    A CMD that fails is not kept and can be tried again, unless --store-failures is given. Up to 256
    KiB of each stream are kept.
    """
    with Inbox() as inbox, Stage(inbox) as stage, ExitStack() as afterwards:
        try:
            with connect(where, label or printable(Path(command[0]).name)) as client:
                once = client.once(
                    key, keep, payload, wait=wait, ttl=ttl, max_hold=max_hold, on_loss="flag"
                )
                with ExitStack() as stack:
                    with inbox.interrupting():
                        visit = stack.enter_context(once)
                    if visit.done:
                        with inbox.interrupting():
                            return _replay(visit.result)
                    stage.keep_open = stack.enter_context(leased.inheritable(client.lifeline()))
                    # Who reads our output may take long; nobody else has to wait for that.
                    capture = afterwards.enter_context(Capture(inbox))
                    return _work(
                        visit, ttl, max_hold, command, stage, capture, keep_failures=store_failures
                    )
        except CannotStart as error:
            say(str(error))
            return error.code
        except Stopped:
            return codes.LOST


def _work(
    visit: OnceRun,
    ttl: float,
    max_hold: float | None,
    command: Sequence[str],
    stage: Stage,
    capture: Capture,
    *,
    keep_failures: bool,
) -> int:
    """Run the command under the visit's lease, and store what came of it."""
    visit.give_up()  # whatever ends us before there is an outcome is no mistake of ours
    lease = visit.lease
    assert lease is not None  # noqa: S101 - it is not done
    tether = leased.tether(lease, ttl, max_hold, stage)
    stage.output = capture.output
    try:
        code = leased.perform(lease, tether, command, stage)
    finally:
        capture.hurry = stage.asked_to_end is not None
    capture.complete()
    if lease.lost:
        return codes.LOST
    ended = stage.last
    by_itself = ended is not None and not ended.child.died_of and not ended.asked_to_end
    if by_itself and (code == codes.DONE or keep_failures):
        visit.store(_outcome(code, capture))
    return code


def _outcome(code: int, capture: Capture) -> Json:
    return {
        "code": code,
        "stdout": b64encode(capture.stdout.kept).decode(),
        "stderr": b64encode(capture.stderr.kept).decode(),
        "cut": capture.stdout.cut or capture.stderr.cut,
    }


def _replay(outcome: Any) -> int:
    """Print what the command printed then, and give its code."""
    if not isinstance(outcome, dict) or not {"code", "stdout", "stderr"} <= outcome.keys():
        say("this key stands for something that was not stored by `holdfast once`")
        return codes.USAGE
    with suppress(OSError):  # as with the first call: stdout is what counts
        write_all(2, b64decode(outcome["stderr"]))
    with writing():
        write_all(1, b64decode(outcome["stdout"]))
    if outcome.get("cut"):
        say(f"it printed more than the {LIMIT // 1024} KiB of each stream that were kept")
    code: int = outcome["code"]
    return code
