"""What the locks of a simulated world protect: cells that bodies write to with their token.

Each name has two cells per slot. One refuses a token older than the newest it has seen, as the docs
tell people to; the other takes everything, and shows what would happen without the check.
"""

from __future__ import annotations

from typing import NamedTuple


class Write(NamedTuple):
    """A body's write on its way."""

    name: str
    slot: int
    token: int
    grant: int  # which grant of the name it belongs to, in the order in which they were made
    who: str


class Cell:
    """The newest write that a cell has taken."""

    __slots__ = ("grant", "token", "who")

    def __init__(self) -> None:
        self.token = 0
        self.grant = 0
        self.who = ""


class Resource:
    """All cells."""

    def __init__(self) -> None:
        self.guarded: dict[tuple[str, int], Cell] = {}
        self.unguarded: dict[tuple[str, int], int] = {}
        self.stale = 0  # writes that overwrote a newer one where nobody checked
        self.refused = 0  # writes that the token kept out

    def write(self, write: Write) -> tuple[Cell, bool]:
        """Take the write; give the guarded cell as it was before, and whether it took it."""
        key = (write.name, write.slot)
        if write.grant < self.unguarded.get(key, 0):
            self.stale += 1
        self.unguarded[key] = write.grant
        cell = self.guarded.setdefault(key, Cell())
        before = Cell()
        before.token, before.grant, before.who = cell.token, cell.grant, cell.who
        if write.token < cell.token:
            self.refused += 1
            return before, False
        cell.token, cell.grant, cell.who = write.token, write.grant, write.who
        return before, True
