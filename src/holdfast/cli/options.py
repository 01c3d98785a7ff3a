"""The options and arguments that several commands share, each checked where it is read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import click

from holdfast.cli.connect import Where
from holdfast.durations import seconds
from holdfast.errors import Misuse
from holdfast.settings import PREFIX

if TYPE_CHECKING:
    from holdfast.api.handle import Handle

Command = Callable[..., int]


def span(text: str | float) -> float:
    """Read a span as users write it: ``250ms``, ``10s``, ``5m``, or a bare number of seconds."""
    try:
        return seconds(_number(text), "value")
    except Misuse as error:
        raise click.BadParameter(error.message) from None


def positive_span(text: str | float) -> float:
    """Read a span that is longer than zero."""
    if (length := span(text)) > 0:
        return length
    raise click.BadParameter("it must be longer than zero.")


def _number(text: str | float) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def text(value: str) -> str:
    """Refuse what is not text: arguments are bytes, and a backend keeps them as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not valid UTF-8.") from None
    return value


url = click.option(
    "--url",
    type=text,
    metavar="URL",
    help="Where the locks live; otherwise $HOLDFAST_URL, otherwise a file of your own.",
)
_app = click.option(
    "--prefix",
    "app",
    type=text,
    metavar="TEXT",
    default=PREFIX,
    help="Whose names: as the prefix of a Client keeps them apart.  [default: holdfast]",
)


def where(command: Command) -> Command:
    """Add ``--url`` and ``--prefix``; the command gets ``where``."""

    @url
    @_app
    @wraps(command)
    def merged(*, url: str | None, app: str, **others: object) -> int:
        return command(where=Where(url, app), **others)

    return merged


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
ttl = click.option(
    "--ttl",
    type=positive_span,
    metavar="DURATION",
    default=10.0,
    help="How long the lease lives without renewal.  [default: 10s]",
)
label = click.option(
    "--label", type=text, metavar="TEXT", help="What others see as the holder's name."
)
name = click.argument("name", metavar="NAME")
space = click.option(
    "--space",
    type=click.Choice(["lock", "once", "singleton"]),
    default="lock",
    help="Whose name it is: those of once keys and singletons are apart from those of locks.",
)
prefix = click.argument("prefix", type=text, metavar="[PREFIX]", default="")
handle = click.argument("text", metavar="HANDLE")


def handle_of(text: str) -> Handle:
    """Read a handle as it was given, or from stdin for ``-``."""
    from holdfast.api.handle import Handle

    return Handle.parse(sys.stdin.readline() if text == "-" else text)


def waiting(command: Command) -> Command:
    """Add ``--wait`` and ``--no-wait``; the command gets ``wait``: seconds, or None for ever."""

    @click.option(
        "--wait",
        type=span,
        metavar="DURATION",
        help="How long to wait when it is busy.  [default: for ever]",
    )
    @click.option("--no-wait", is_flag=True, help="Do not wait: busy is busy.")
    @wraps(command)
    def merged(*, wait: float | None, no_wait: bool, **others: object) -> int:
        if no_wait and wait is not None:
            raise click.UsageError("--wait and --no-wait exclude each other.")
        return command(wait=0.0 if no_wait else wait, **others)

    return merged
