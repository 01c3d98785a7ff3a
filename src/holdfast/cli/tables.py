"""Locks as a table: drawn by rich on a terminal, in plain columns elsewhere.

Names, hosts and labels are other people's text: what a terminal would obey is escaped, and rich is
given text, never markup. Programs should read ``--json`` instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.cli.report import put
from holdfast.durations import readable
from holdfast.values import LockInfo, apart, called, printable

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("NAME", "HOLDER", "HELD FOR", "EXPIRES IN", "WAITING", "TOKEN")
_NUMBERS = COLUMNS[2:]


def put_locks(locks: Iterable[LockInfo]) -> None:
    """Print the locks for a person."""
    found = list(locks)
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(table(found))
        return
    rows = [COLUMNS, *map(cells, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        put("  ".join(padded).rstrip())


def table(locks: Iterable[LockInfo], caption: str = "") -> Table:
    """Give the locks as rich draws them."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, caption=Text(caption) if caption else None)
    for column in COLUMNS:
        numeric = column in _NUMBERS
        drawn.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for info in locks:
        drawn.add_row(*map(Text, cells(info)))
    return drawn


def cells(info: LockInfo) -> Sequence[str]:
    """Give one lock in words, one for each column."""
    expires_in = info.expires_in
    return (
        printable(info.name) if info.space == "lock" else called(apart(info.space, info.name)),
        holders(info),
        held_for(info),
        "" if expires_in is None else readable(expires_in),
        str(info.waiters),
        str(info.token),
    )


def holders(info: LockInfo) -> str:
    """Say who holds it; the first of several."""
    if not info.holders:
        return "(free)"
    first = info.holders[0]
    others = f" and {len(info.holders) - 1} more" if len(info.holders) > 1 else ""
    return f"{first.holder}{others}{' (broken)' if first.broken else ''}"


def held_for(info: LockInfo) -> str:
    """Say how long the first of the holders has had it, as far as the wall clocks agree."""
    return readable(max(0.0, time.time() - info.holders[0].since)) if info.holders else ""
