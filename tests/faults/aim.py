"""Hitting where it hurts: most faults of workers go to one that is inside a lock at that moment."""

import os
import time
from pathlib import Path

from holdfast.testing.history.form import SUFFIX
from holdfast.testing.verify.torments import Scene
from holdfast.testing.workload.crew import Worker
from tests.faults.ground import SLOW_TTL, TTL

OFTEN = 0.75
TAIL = 400
"""Bytes at the end of a history; more than its last line has."""


class AimedScene(Scene):
    """A scene whose victims mostly hold something, if anybody does."""

    def one(self) -> Worker:
        """Pick a worker that is alive, and preferably inside."""
        inside = [
            one for one in self.crew.workers if one.alive and is_inside(one, self.crew.folder)
        ]
        if inside and self.dice.random() < OFTEN:
            return self.dice.choice(inside)
        return super().one()

    def wait(self, lives: tuple[float, float]) -> None:
        """Do nothing for so many lives of a lease: now and then of one that lives long."""
        ttl = self.dice.choice([TTL, TTL, SLOW_TTL])
        time.sleep(self.dice.uniform(*lives) * ttl)


def is_inside(worker: Worker, folder: Path) -> bool:
    """Whether the last word of a thread or task of the worker was that of a holder."""
    histories = [*folder.glob(f"{worker.name}.*{SUFFIX}"), folder / f"{worker.name}{SUFFIX}"]
    return any(_last_word(path) in {b"held", b"checked", b"extended"} for path in histories)


def _last_word(path: Path) -> bytes:
    try:
        with path.open("rb") as history:
            history.seek(max(0, os.fstat(history.fileno()).st_size - TAIL))
            return history.read().rpartition(b'"do":"')[2].partition(b'"')[0]
    except FileNotFoundError:
        return b""  # it has not begun yet
