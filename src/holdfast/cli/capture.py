"""What a command prints, passed on as it comes and kept up to a limit: for ``holdfast once``.

A thread per stream reads from a pipe, writes to our own stream, and keeps a copy. If nobody reads
our stream any more the copy is still made: what is kept must not depend on who was looking.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Self

LIMIT = 256 * 1024
"""How many bytes of each stream are kept."""

PATIENCE = 1.0
"""How long we wait for the last bytes: a process that left the group may keep its pipe open."""

CHUNK = 65_536


class Pump:
    """One stream: from a pipe of the command's to a descriptor of ours."""

    def __init__(self, to: int) -> None:
        self.kept = bytearray()
        self.cut = False
        self._to: int | None = to
        self._readable, self.writable = os.pipe()
        self._thread = threading.Thread(target=self._turn, name="pump", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for what is still in the pipe; the command must have ended."""
        os.close(self.writable)
        self._thread.join(PATIENCE)

    def _turn(self) -> None:
        with os.fdopen(self._readable, "rb", buffering=0) as pipe:
            while chunk := pipe.read(CHUNK):
                room = LIMIT - len(self.kept)
                self.kept += chunk[:room]
                self.cut = self.cut or len(chunk) > room
                self._pass_on(chunk)

    def _pass_on(self, chunk: bytes) -> None:
        try:
            while chunk and self._to is not None:
                chunk = chunk[os.write(self._to, chunk) :]
        except OSError:  # nobody reads it any more, or the disk is full: the copy goes on
            self._to = None


class Capture:
    """Both streams of a command; a context manager that waits for their ends."""

    def __enter__(self) -> Self:
        self.stdout, self.stderr = Pump(1), Pump(2)
        return self

    @property
    def output(self) -> tuple[int, int]:
        """Where the command has to write to."""
        return self.stdout.writable, self.stderr.writable

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stdout.close()
        self.stderr.close()
