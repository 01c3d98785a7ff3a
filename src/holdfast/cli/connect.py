"""How a command gets its client, and how it waits: told by signals, leaving nothing behind."""

from __future__ import annotations

from holdfast.api.client import Client
from holdfast.cli.report import say_what_is_logged


def connect(url: str | None, label: str | None = None) -> Client:
    """Open the backend, and let its warnings be seen."""
    say_what_is_logged()
    return Client(url, holder=label)
