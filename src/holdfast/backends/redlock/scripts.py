"""The voter's rule in the server's language: read from ``scripts/``, known to it by its hash."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from holdfast.backends.redis.scripts import Script, known_by_hash, put_together

NAMES = ("claim", "renew", "end", "break", "look", "stand")


@cache
def script(name: str) -> Script:
    """Give the script for one kind of request: the common beginning, then its own part."""
    return known_by_hash(name, put_together(name, "voter", _text))


def _text(name: str) -> str:
    return (files(__package__) / "scripts" / f"{name}.lua").read_text(encoding="utf-8")
