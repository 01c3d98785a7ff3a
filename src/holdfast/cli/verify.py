"""``holdfast verify``: torment workers on the user's own backend, and say what held.

The trial itself is in ``holdfast.testing.verify``; here are the words, the bar and the exit code.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from holdfast.cli import codes, options
from holdfast.cli.report import put, put_json, say, say_what_is_logged
from holdfast.cli.signals import Inbox, Interrupted
from holdfast.durations import readable
from holdfast.testing.verify.report import as_json
from holdfast.testing.verify.trial import Outcome, Progress, Trial


@click.command("verify")
@click.argument("where", metavar="[URL]", required=False, type=options.text)
@click.option(
    "--for",
    "seconds",
    type=options.positive_span,
    metavar="DURATION",
    default=30.0,
    help="How long the workers work.  [default: 30s]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 100),
    default=6,
    show_default=True,
    help="How many processes; some of them with several threads or tasks.",
)
@click.option("--seed", type=int, help="Draw the same turns and faults as another run did.")
@click.option(
    "--json",
    "report_to",
    metavar="FILE",
    help="Write a report as JSON; - is stdout, and then nothing else is printed there.",
)
@options.url
def command(
    *,
    where: str | None,
    seconds: float,
    workers: int,
    seed: int | None,
    report_to: str | None,
    url: str | None,
) -> int:
    """See for yourself whether locks hold on your backend when everything goes wrong.

    Worker processes take, hold and give back locks under a prefix of their own, change cells, work
    on once keys, run once per slot and keep to a rate; they are killed, paused and cut off, and
    write down what they see; a checker then judges every line. Nothing outside the
    prefix is touched, and what is left of it is removed at the end.
    """
    if where is not None and url is not None:
        raise click.UsageError("give the URL once, as an argument or with --url.")
    say_what_is_logged(logging.ERROR)
    seed = secrets.randbits(32) if seed is None else seed
    with _written_to(report_to) as file:
        outcome = _tried(Trial(url=where or url, seconds=seconds, workers=workers, seed=seed))
        if report_to == "-":
            put_json(as_json(outcome))
        else:
            for line in lines(outcome):
                put(line)
        if file is not None:
            json.dump(as_json(outcome), file, indent=2)
    if not outcome.verdict.judged["exclusion"]:
        say("nothing was granted in that time, so nothing is proved; try a longer --for")
        return codes.UNAVAILABLE
    return codes.DONE if outcome.verdict.ok else codes.VIOLATED


def _tried(trial: Trial) -> Outcome:
    """Make the trial, with a bar; a signal ends it in good order and without a verdict."""
    with Inbox() as inbox, _bar(trial.seconds) as trial.progress:
        try:
            with inbox.interrupting():
                return trial.run()
        except Interrupted:
            left = trial.left_behind or "what the workers left was removed"
            say(f"interrupted: nothing is judged; {left}")
            raise


def lines(outcome: Outcome) -> Iterator[str]:
    """Put the outcome into words."""
    verdict = outcome.verdict
    yield verdict.summary()
    crew = _listed(Counter[str](outcome.modes).items())
    yield f"  on {outcome.address.shown}: {crew} for {readable(outcome.seconds)}"
    yield f"  faults: {_listed(verdict.faults.most_common()) or 'none'}"
    yield f"  judged: {_listed(verdict.judged.items())}"
    yield from _of_primitives(outcome.primitives)
    for rule, why in verdict.excused.items():
        if why:
            yield f"  not judged by {rule}: {_listed(why.most_common())}"
    for note, count in verdict.notes.items():
        yield f"  {note}: {count:,}"
    for missing in outcome.not_covered:
        yield f"  not covered: {missing}"
    for note in outcome.capabilities.notes:
        yield f"  the backend: {note}"
    if outcome.left_behind:
        yield f"  left behind: {outcome.left_behind}"
    yield f"  again: --seed {outcome.seed}"
    for stuck in outcome.stuck:
        yield f"a worker did not come home: {' '.join(stuck.split())}"
    for violation in verdict.violations:
        yield f"{violation.rule}: {violation.what}"
        yield from violation.quotes()
    if outcome.histories is not None:
        yield f"all histories are in {outcome.histories}"


def _of_primitives(judged: dict[str, int]) -> Iterator[str]:
    """Say how often each was judged, and of which nothing is proved."""
    yield f"  of each primitive: {_listed(judged.items())}"
    if idle := [one for one, count in judged.items() if not count]:
        yield f"  nothing is proved of: {', '.join(idle)}; try a longer --for"


@contextmanager
def _written_to(path: str | None) -> Iterator[IO[str] | None]:
    """Open the file of the report before the trial, which would be in vain if that fails."""
    if path is None or path == "-":
        yield None
        return
    try:
        file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint="--json") from None
    with file:
        yield file


def _listed(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts)


@contextmanager
def _bar(seconds: float) -> Iterator[Progress]:
    """Show how far it is, on a terminal only; elsewhere nobody would see it move."""
    if not sys.stderr.isatty():
        yield lambda _passed, _what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("the workers start", total=seconds)
        yield lambda passed, what: bar.update(task, completed=passed, description=what)
