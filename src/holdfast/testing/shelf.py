"""What became of each set-up of a test run: one small file per key, replaced as a whole."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from holdfast.values import Json


class Entry(NamedTuple):
    """What the last attempt came to. ``attempt`` counts; ``failure`` is empty where it worked."""

    attempt: int
    worker: str
    value: Json = None
    failure: str = ""
    final: bool = False  # a failure that nobody is to try again


class Shelf:
    """One folder. Writers hold the key's lock; readers may come at any time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, key: str) -> Entry | None:
        """Give what is there for ``key``."""
        try:
            return Entry(**json.loads(self._file(key).read_text("utf-8")))
        except FileNotFoundError:
            return None

    def write(self, key: str, entry: Entry) -> None:
        """Put ``entry`` in the place of what was there."""
        file = self._file(key)
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(entry._asdict()), "utf-8")
        os.replace(draft, file)  # noqa: PTH105 - the atomic one, by its own name

    def remove(self, key: str) -> None:
        """Let nothing be there."""
        self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / f"{sha256(key.encode()).hexdigest()[:32]}.json"
