"""The three standard streams, there in any case: whoever started us may have closed some.

A closed descriptor's number goes to the next file that is opened, a lock file or the signals' own
pipe, and what is meant for stderr would be written there. So this comes before all else.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast

# Nobody gets what is written to a closed stdout, so writing there has to fail.
_HOW = {0: os.O_RDONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}


def fill_closed() -> None:
    """Put /dev/null where a standard stream is closed, for us and for the command."""
    for descriptor, how in _HOW.items():
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, how)  # takes the lowest free number, which is this one
            os.set_inheritable(descriptor, True)
    if sys.stdin is None:
        sys.stdin = _stream(0, "r")
    if sys.stdout is None:
        sys.stdout = _stream(1, "w")
    if sys.stderr is None:
        sys.stderr = _stream(2, "w")


def _stream(descriptor: int, mode: str) -> TextIO:
    return cast(
        "TextIO", open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
    )
