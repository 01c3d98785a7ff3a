"""Coarse and fine: shelves are worked on side by side, stock is taken of all of them alone.

Whoever works on a shelf reads the warehouse and writes the shelf; whoever takes stock writes the
warehouse. A move between two shelves takes both at once, whatever order they are named in.

    python -m examples.warehouse
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import holdfast

SHELVES = 3
ROUNDS = 5


class Warehouse:
    """Counts on shelves, protected by nothing but the locks."""

    def __init__(self, hf: holdfast.Client) -> None:
        self._hf = hf
        self.boxes = [10] * SHELVES
        self.most_at_once = 0
        self._inside = 0
        self._guard = threading.Lock()

    def repack(self, shelf: int) -> None:
        """Work on one shelf, beside others."""
        whole = self._hf.rwlock("warehouse").read()
        with whole, self._hf.lock(holdfast.key("shelf", shelf)):
            with self._guard:
                self._inside += 1
                self.most_at_once = max(self.most_at_once, self._inside)
            time.sleep(0.02)
            with self._guard:
                self._inside -= 1

    def move(self, source: int, target: int) -> None:
        """Move a box: both shelves at once, and no deadlock with those who move it back."""
        names = [holdfast.key("shelf", source), holdfast.key("shelf", target)]
        with self._hf.rwlock("warehouse").read(), self._hf.lock_all(names):
            boxes = self.boxes[source]
            time.sleep(0.001)  # time enough for others, if they were let in
            self.boxes[source] = boxes - 1
            self.boxes[target] += 1

    def take_stock(self) -> int:
        """Count everything, alone."""
        with self._hf.rwlock("warehouse").write():
            assert self._inside == 0, "somebody works while stock is taken"
            return sum(self.boxes)


def main() -> int:
    """Let everybody work at once."""
    with holdfast.Client("memory://warehouse", wait="30s") as hf:
        warehouse = Warehouse(hf)
        counts: list[int] = []
        jobs: list[Callable[[], object]] = [
            lambda: warehouse.move(0, 1),
            lambda: warehouse.move(1, 0),
            lambda: warehouse.move(2, 1),
            lambda: counts.append(warehouse.take_stock()),
            *[lambda shelf=shelf: warehouse.repack(shelf) for shelf in range(SHELVES)],
        ]
        threads = [threading.Thread(target=_again, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    right = set(counts) == {10 * SHELVES} and len(counts) == ROUNDS
    print(f"counted {counts}; at most {warehouse.most_at_once} shelves at once")
    return 0 if right and warehouse.most_at_once > 1 else 1


def _again(job: Callable[[], object]) -> None:
    for _ in range(ROUNDS):
        job()


if __name__ == "__main__":
    sys.exit(main())
