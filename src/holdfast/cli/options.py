"""The options and arguments that several commands share, each checked where it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, override

import click

from holdfast.durations import positive, seconds
from holdfast.errors import Misuse


class DurationParam(click.ParamType):
    """A span as users write it: ``250ms``, ``10s``, ``5m``, or a bare number of seconds."""

    name = "duration"

    def __init__(self, *, zero: bool = False) -> None:
        self._read = seconds if zero else positive

    @override
    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return self._read(_number(value), param.opts[0] if param else "it")
        except Misuse as error:
            self.fail(error.message, param, ctx)


def _number(value: str | float) -> str | float:
    try:
        return float(value)
    except ValueError:
        return value


url = click.option(
    "--url",
    metavar="URL",
    help="Where the locks live; otherwise $HOLDFAST_URL, otherwise a file of your own.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
ttl = click.option(
    "--ttl",
    type=DurationParam(),
    default=10.0,
    show_default="10s",
    help="How long the lease lives without renewal.",
)
label = click.option("--label", metavar="TEXT", help="What others see as the holder's name.")
name = click.argument("name", metavar="NAME")
handle = click.argument("text", metavar="HANDLE")

Decorated = Callable[..., object]


def waiting(command: Decorated) -> Decorated:
    """Add ``--wait`` and ``--no-wait``; the command gets ``wait``: None, or seconds."""
    command = click.option(
        "--no-wait",
        "wait",
        flag_value=0.0,
        type=DurationParam(zero=True),
        help="Do not wait: busy is busy.",
    )(command)
    return click.option(
        "--wait",
        "wait",
        type=DurationParam(zero=True),
        help="How long to wait when it is busy.  [default: for ever]",
    )(command)
