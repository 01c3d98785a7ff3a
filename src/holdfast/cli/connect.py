"""How a command gets its client, and how what the library logs meanwhile is seen."""

from __future__ import annotations

import logging
from typing import NamedTuple

from holdfast.api.client import Client
from holdfast.cli.report import say_what_is_logged


class Where(NamedTuple):
    """Which backend, and under which prefix."""

    url: str | None
    prefix: str


def connect(where: Where, label: str | None = None, *, quiet: bool = False) -> Client:
    """Open the backend, and let its warnings be seen; ``quiet`` for who reports by itself."""
    show_warnings(quiet=quiet)
    return Client(where.url, holder=label, prefix=where.prefix)


def show_warnings(*, quiet: bool = False) -> None:
    """Let warnings be seen, as lines of ours; only errors if ``quiet``."""
    say_what_is_logged(logging.ERROR if quiet else logging.WARNING)
    # What a server survives is for whoever runs it; a cron job must not say it every minute.
    logging.getLogger("holdfast.survey").setLevel(logging.ERROR)
