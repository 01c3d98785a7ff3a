"""The rule in the server's language: read from ``scripts/``, put together, known by their hash."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple


class Script(NamedTuple):
    """One script: what is sent to make the server know it, and how it is called from then on."""

    name: str
    body: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Give the script for one kind of request: the moves stand where its text asks for them."""
    text = f"{_text('birth')}\n{_text(name)}".replace("--@ moves", _text("moves"))
    body = text.encode()
    # The protocol's own name for a script, not a secret.
    return Script(name, body, sha1(body, usedforsecurity=False).hexdigest().encode())


def _text(name: str) -> str:
    return (files(__package__) / "scripts" / f"{name}.lua").read_text(encoding="utf-8")
