"""How the proxy behaves at the moment, and what it has seen so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Traffic:
    """How much came from one side."""

    chunks: int = 0
    size: int = 0  # in bytes

    def add(self, chunk: bytes) -> None:
        """Count a chunk."""
        self.chunks += 1
        self.size += len(chunk)


@dataclass(slots=True, kw_only=True)
class Mood:
    """How the proxy behaves at the moment, and what it has counted."""

    silent: bool = False
    held: bool = False
    delay: float = 0.0
    to_drop: Callable[[bytes], bool] = lambda _chunk: False
    drops_left: int = 0
    dropped: int = 0
    accepted: int = 0
    requests: Traffic = field(default_factory=Traffic)
    replies: Traffic = field(default_factory=Traffic)

    def drops(self, chunk: bytes) -> bool:
        """Say whether the reply to this request is to be lost, and count it off."""
        if not (self.drops_left and self.to_drop(chunk)):
            return False
        self.drops_left -= 1
        return True
