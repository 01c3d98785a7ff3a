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
    own = files(__package__) / "scripts"
    body = "".join((own / f"{part}.lua").read_text("utf-8") for part in ("voter", name)).encode()
    # The protocol's own name for a script, not a secret.
    return Script(name, body, sha1(body, usedforsecurity=False).hexdigest().encode())
