"""``holdfast watch``: see locks come and go, as a live table or line by line.

The backends have no feed of changes, so it looks once an interval. It ends with a signal, by 128 +
its number like everything here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import click

from holdfast.api.client import Client
from holdfast.cli import options
from holdfast.cli.changes import changes
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put, put_json
from holdfast.cli.signals import Inbox
from holdfast.errors import BackendUnavailable
from holdfast.values import Json, LockInfo

Look: TypeAlias = list[LockInfo] | BackendUnavailable
Screen: TypeAlias = Callable[[Look], None]


@click.command("watch")
@options.prefix
@click.option(
    "--interval",
    type=options.positive_span,
    metavar="DURATION",
    default=1.0,
    help="How often to look.  [default: 1s]",
)
@options.as_json
@options.where
def command(*, prefix: str, interval: float, as_json: bool, where: Where) -> int:
    """Watch the locks whose name starts with PREFIX until Ctrl-C.

    On a terminal a live table; otherwise, and with --json, one line for each change. What begins
    and ends between two looks is not seen.
    """
    live = sys.stdout.isatty() and not as_json
    with Inbox() as inbox, connect(where, quiet=True) as client, inbox.interrupting():
        look: Look = client.locks(prefix)  # the first time, an unavailable backend ends it
        with _table() if live else _lines(as_json=as_json) as screen:
            while True:
                screen(look)
                inbox.wait(interval)
                look = _look(client, prefix)


def _look(client: Client, prefix: str) -> Look:
    try:
        return client.locks(prefix)
    except BackendUnavailable as error:
        return error


@contextmanager
def _table() -> Iterator[Screen]:
    from rich.live import Live

    from holdfast.cli.tables import table

    seen: list[LockInfo] = []
    with Live(auto_refresh=False) as live:

        def draw(look: Look) -> None:
            nonlocal seen
            caption = look.message if isinstance(look, BackendUnavailable) else ""
            seen = seen if isinstance(look, BackendUnavailable) else look
            live.update(table(seen, caption), refresh=True)

        yield draw


@contextmanager
def _lines(*, as_json: bool) -> Iterator[Screen]:
    seen: list[LockInfo] = []
    available = True

    def tell(look: Look) -> None:
        nonlocal seen, available
        reachable = not isinstance(look, BackendUnavailable)
        if reachable != available:
            available = reachable
            event = "available" if reachable else "unavailable"
            reason = look.message if isinstance(look, BackendUnavailable) else None
            _put(event, {"event": event, "reason": reason}, as_json=as_json)
        if not isinstance(look, BackendUnavailable):
            for change in changes(seen, look):
                _put(str(change), change.as_json(), as_json=as_json)
            seen = look

    yield tell


def _put(words: str, fields: dict[str, Json], *, as_json: bool) -> None:
    if as_json:
        put_json({"at": round(time.time(), 3), **fields})
    else:
        put(f"{time.strftime('%H:%M:%S')}  {words}")
