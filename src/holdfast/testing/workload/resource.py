"""What the locks protect: counters in files, whose own log tells in which order they were written.

The file is its log: each line, of one width, is one access, and the last one is the state. A fenced
resource refuses a token smaller than one that it has seen, also for reading; an unfenced one takes
everything. An access is one append under ``flock``, so a kill leaves all of a line or, torn, none.
The lines are entries of a history (``landed``), and the reader merges them with the workers' own.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from holdfast.testing.history.form import SUFFIX
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.record import header

WIDTH = 320


class Refused(Exception):
    """A larger token has been here."""

    def __init__(self, seen: int) -> None:
        super().__init__(f"token {seen} was here before")
        self.seen = seen


class Resource:
    """One counter, shared by all workers that name the same folder and resource."""

    def __init__(self, folder: Path, name: str, *, fenced: bool) -> None:
        self.name = name
        self.fenced = fenced
        self._path = folder / f"resource-{name}{SUFFIX}"

    def read(self, token: int, by: str, n: int) -> int:
        """Give the value; a fenced resource remembers the token from now on."""
        return self._access(token, by, n, None)

    def write(self, token: int, by: str, n: int, value: int) -> None:
        """Set the value; ``Refused`` if a fenced resource has seen a larger token."""
        self._access(token, by, n, value)

    def value(self) -> int:
        """Look at it from outside."""
        return self._last(self._path.stat().st_size)[1] if self._path.exists() else 0

    def _access(self, token: int, by: str, n: int, value: int | None) -> int:
        # A description of its own for each access: flock then works between threads and forks.
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            torn = size % WIDTH
            if torn:
                os.ftruncate(descriptor, size - torn)
            if size < WIDTH:
                about = {**header(f"resource-{self.name}"), "role": "resource"}
                os.write(descriptor, _padded(about))
            seen, current = self._last(max(size - torn, WIDTH))
            if self.fenced and token < seen:
                raise Refused(seen)
            if value is None and not self.fenced:
                return current
            entry = {"at": now_ns(), "do": "landed", "resource": self.name, "fenced": self.fenced}
            current = current if value is None else value
            entry |= {"token": token, "value": current, "by": by, "n": n}
            os.write(descriptor, _padded(entry))
            return current
        finally:
            os.close(descriptor)

    def _last(self, size: int) -> tuple[int, int]:
        if size <= WIDTH:
            return 0, 0
        with self._path.open("rb") as lines:
            lines.seek(size - WIDTH)
            entry = json.loads(lines.read(WIDTH))
        return entry["token"], entry["value"]


def _padded(fields: dict[str, Any]) -> bytes:
    line = json.dumps(fields, separators=(",", ":")).encode()
    if len(line) >= WIDTH:
        raise ValueError(f"an entry of {len(line)} bytes does not fit into {WIDTH}")
    return line.ljust(WIDTH - 1) + b"\n"
