"""What a client writes about its claim, for people and other clients: no script reads it."""

from __future__ import annotations

import json
from functools import lru_cache

from holdfast.values import Holder

BETWEEN = "\x1f"
"""Stands between a holder and its metadata: JSON has no such sign."""


def described(holder: Holder, metadata: str, *, detached: bool) -> str:
    """Write down who claims, the metadata, and whether the lease is held without a process."""
    who = json.dumps(holder, separators=(",", ":"))
    return f"{'1' if detached else '0'}{who}{BETWEEN}{metadata}"


@lru_cache(maxsize=1000)
def read_about(about: bytes) -> tuple[Holder, str, bool]:
    """Read it again."""
    text = about.decode()
    who, _, metadata = text[1:].partition(BETWEEN)
    return Holder(*json.loads(who)), metadata, text[0] == "1"
