"""Reading histories back: many files, each in order, as one stream in the order of time.

Files are read side by side, each only from its first moment on: neither memory nor the number of
open files grows with the length of a run. What cannot be trusted is refused, with file and line:
another version, another boot, time that runs backwards, words that nobody knows. Only a torn last
line is forgiven; its writer was killed while it wrote.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.testing.history.form import GONE, MARK, SUFFIX, VERSION, Fields, HistoryError

Entry = tuple[int, int, int, Fields]
"""Moment, number of the file, number of the line, and what stands there."""


class Source(NamedTuple):
    """One file: where it is, who wrote it, in which process."""

    path: Path
    worker: str
    pid: int
    boot: str
    role: str
    begins_at: int


class History:
    """The files of one run. ``sources`` is in the order of their numbers in an ``Entry``."""

    def __init__(self, paths: Iterable[Path], kinds: Collection[str]) -> None:
        found = [(path, _source(path)) for path in sorted(paths)]
        self.sources = [source for _, source in found if source is not None]
        self.torn = sum(source is None for _, source in found)  # killed before the first line
        self._kinds = kinds
        if not self.sources:
            raise HistoryError("there is no history here")
        boots = {source.boot: source.path for source in self.sources}
        if len(boots) > 1:
            names = " and ".join(path.name for path in list(boots.values())[:2])
            raise HistoryError(f"{names} were written on different hosts or boots")

    @classmethod
    def of(cls, folder: Path, kinds: Collection[str]) -> History:
        """Read every history in a folder."""
        return cls(folder.glob(f"*{SUFFIX}"), kinds)

    def __iter__(self) -> Iterator[Entry]:
        coming = [(source.begins_at, number) for number, source in enumerate(self.sources)]
        coming.sort(reverse=True)
        reading: list[tuple[int, int, int, Fields, Callable[[], Entry]]] = []
        while coming or reading:
            while coming and (not reading or coming[-1][0] <= reading[0][0]):
                _, number = coming.pop()
                following = self._entries(number, self.sources[number]).__next__
                heapq.heappush(reading, (*following(), following))
            at, number, line, fields, following = reading[0]
            yield at, number, line, fields
            try:
                heapq.heapreplace(reading, (*following(), following))
            except StopIteration:
                heapq.heappop(reading)

    def _entries(self, number: int, source: Source) -> Iterator[Entry]:
        last_at, last_line = 0, 1
        with source.path.open("rb") as lines:
            lines.readline()
            for line_number, line in enumerate(lines, 2):
                if not line.endswith(b"\n"):
                    break
                fields = _fields(source.path, line_number, line)
                at = fields.get("at")
                if not isinstance(at, int) or fields.get("do") not in self._kinds:
                    raise HistoryError(f"{source.path.name}:{line_number}: not an entry: {fields}")
                if at < last_at:
                    raise HistoryError(f"{source.path.name}:{line_number}: time runs backwards")
                last_at, last_line = at, line_number
                yield at, number, line_number, fields
        gone = {"at": last_at, "do": GONE, "role": source.role}
        yield last_at, number, last_line + 1, gone


def _source(path: Path) -> Source | None:
    with path.open("rb") as lines:
        line, second = lines.readline(), lines.readline()
    if not line.endswith(b"\n"):
        return None
    header = _fields(path, 1, line)
    if header.get(MARK) != VERSION:
        raise HistoryError(f"{path.name}:1: this is not a history of version {VERSION}")
    try:
        who, pid, boot = str(header["worker"]), int(header["pid"]), str(header["boot"])
    except (KeyError, ValueError) as error:
        raise HistoryError(f"{path.name}:1: the first line lacks {error}") from error
    begins_at = _fields(path, 2, second).get("at", 0) if second.endswith(b"\n") else 0
    return Source(path, who, pid, boot, str(header.get("role", "worker")), begins_at)


def _fields(path: Path, number: int, line: bytes) -> Fields:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise HistoryError(f"{path.name}:{number}: {error}") from error
    if not isinstance(fields, dict):
        raise HistoryError(f"{path.name}:{number}: not an entry: {fields}")
    return fields
