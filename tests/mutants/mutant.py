"""A mutant: one bug, put into the product as a change of its text."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.mutants.catchers import Catcher

PRODUCT = Path("src", "holdfast")


class Mutant(NamedTuple):
    """One bug that a lock library has had or could have, and who is to find it."""

    name: str
    breaks: str
    """What goes wrong because of it, in words."""
    file: str
    """Where it is, below ``src/holdfast``."""
    was: str
    """The text that is replaced; it must be in the file exactly once."""
    becomes: str
    caught_by: Catcher

    @property
    def room(self) -> str:
        """Say which room of the product it is in."""
        return self.file.partition("/")[0]

    def infect(self, root: Path) -> None:
        """Put it into the copy of the project at ``root``, or raise ``Outdated``."""
        path = root / PRODUCT / self.file
        text = path.read_text("utf-8")
        found = text.count(self.was)
        if found != 1:
            raise Outdated(
                f"mutant {self.name}: the text it replaces is {found} times in {self.file}, not"
                f" once. The code has changed: write the mutant anew.\n{self.was}"
            )
        path.write_text(text.replace(self.was, self.becomes), "utf-8")


class Outdated(Exception):
    """The code was changed under a mutant, so that it does not apply any more."""
