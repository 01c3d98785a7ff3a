"""The voter's rule in the server's language: read from ``scripts/``, known to it by its hash."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from importlib.resources import files

from holdfast.backends.redis.scripts import Script

NAMES = ("claim", "renew", "end", "break", "look", "stand")


@cache
def script(name: str) -> Script:
    """Give the script for one kind of request: the common beginning, then its own part."""
    own = _text(name).replace("--@ moves\n", _text("moves"))
    body = f"{_text('voter')}\n{own}".encode()
    # The protocol's own name for a script, not a secret.
    return Script(name, body, sha1(body, usedforsecurity=False).hexdigest().encode())


def _text(name: str) -> str:
    return (files(__package__) / "scripts" / f"{name}.lua").read_text(encoding="utf-8")
