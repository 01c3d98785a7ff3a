"""An unprotected counter in a file, and who has added how much to it.

Reading, adding and writing back are three steps that nothing but the lock keeps together. The file
is replaced as a whole, so that a kill between two steps leaves either the old or the new one. What
a worker remembers and what the file says must agree: if not, two were inside at once.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple


class Ledger:
    """The file of one folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "ledger.json"
        self._log = folder / "entries.log"

    def read(self) -> dict[str, Any]:
        """Read it; a missing one is empty."""
        try:
            found: dict[str, Any] = json.loads(self._file.read_text())
        except FileNotFoundError:
            found = {"counter": 0, "token": 0, "shares": {}}
        return found

    def add_one(self, worker: str, expected: int, token: int, pause: float) -> None:
        """Add one, slowly; complain if anybody else was here meanwhile."""
        self._note("enter", worker, token)
        ledger = self.read()
        if ledger["shares"].get(worker, 0) != expected:
            self._note("violation: an increment was lost", worker, token)
        if ledger["token"] >= token:
            self._note("violation: a larger token was here before", worker, token)
        time.sleep(pause)
        ledger["counter"] += 1
        ledger["token"] = token
        ledger["shares"][worker] = expected + 1
        draft = self._file.with_name(f"draft-{os.getpid()}")
        draft.write_text(json.dumps(ledger))
        draft.replace(self._file)
        self._note("leave", worker, token)

    def done_by(self, worker: str) -> int:
        """Say how much of its share a worker has done: where it resumes after a kill."""
        done: int = self.read()["shares"].get(worker, 0)
        return done

    def _note(self, what: str, worker: str, token: int) -> None:
        line = f"{time.monotonic()}\t{os.getpid()}\t{worker}\t{token}\t{what}\n"
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def entries(self) -> list["Entry"]:
        """Give the log, in order of time."""
        if not self._log.exists():
            return []
        rows = [line.split("\t") for line in self._log.read_text().splitlines()]
        return sorted(
            Entry(float(at), int(pid), who, int(token), what) for at, pid, who, token, what in rows
        )


class Entry(NamedTuple):
    """One line of the log."""

    at: float
    pid: int
    worker: str
    token: int
    what: str


def gaps_after_kills(entries: list[Entry], kills: list[tuple[float, int]]) -> list[float]:
    """For each kill that hit the one inside, say how long it took until the next got in."""
    gaps = []
    for killed_at, pid in kills:
        before = [entry for entry in entries if entry.at <= killed_at]
        if not before or before[-1].pid != pid or before[-1].what != "enter":
            continue
        following = [
            entry.at
            for entry in entries
            if entry.at > killed_at and entry.what == "enter" and entry.pid != pid
        ]
        if following:
            gaps.append(following[0] - killed_at)
    return gaps
