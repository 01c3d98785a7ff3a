"""Writing a history down, one line and one system call for each thing that happens.

Nothing is kept back in the process: a line is with the kernel when ``note`` returns, so ``kill -9``
takes away only what nobody has acted upon yet. A recorder belongs to one thread or task, and to the
process that made it; a forked child makes one of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from holdfast.testing.history.form import MARK, SUFFIX, VERSION
from holdfast.testing.history.moment import boot_mark, now_ns

_line = json.JSONEncoder(separators=(",", ":")).encode


class Recorder:
    """The file of one worker. The name must be new in its folder: no history is written twice."""

    def __init__(self, folder: Path, worker: str, **about: Any) -> None:
        self.worker = worker
        self.path = folder / f"{worker}{SUFFIX}"
        self._claims = 0
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._write({**header(worker), **about})

    def claim(self) -> int:
        """Give the number of the next claim."""
        self._claims += 1
        return self._claims

    def note(self, do: str, /, *, at: int | None = None, **fields: Any) -> int:
        """Write down what happened, now or at a moment that was taken before; give the moment."""
        moment = now_ns() if at is None else at
        self._write({"at": moment, "do": do, **fields})
        return moment

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        descriptor, self._file = self._file, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write(self, fields: dict[str, Any]) -> None:
        line = (_line(fields) + "\n").encode()
        if os.write(self._file, line) != len(line):  # a full disk: the history is worth nothing
            raise OSError(f"could not write all of a line to {self.path}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def header(worker: str) -> dict[str, Any]:
    """Give the first line of a file."""
    return {MARK: VERSION, "worker": worker, "pid": os.getpid(), "boot": boot_mark()}
