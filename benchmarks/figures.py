"""What a workload brings home, and how it is shown: a table for people, JSON for the record.

A figure is one measured value of holdfast's, the value it is set against in the same run, and the
result that the aim speaks about. Nothing here measures anything.
"""

import json
import os
import platform
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import holdfast

Unit = Literal["cycles/s", "s", "s more", "tx/s", "CPU", "times", "modules"]

HEADINGS = ("measured", "holdfast", "against", "", "result", "aim", "")


@dataclass(frozen=True, slots=True)
class Value:
    """A number and what it counts."""

    number: float
    unit: Unit

    def __str__(self) -> str:
        match self.unit:
            case "s" | "s more":
                return f"{'+' if self.unit == 's more' else ''}{span(self.number)}"
            case "cycles/s":
                return f"{self.number:,.0f}/s"
            case "tx/s":
                return f"{self.number:.2f} tx/s"
            case "CPU":
                return f"{self.number:.2%} CPU"
            case "times":
                return f"{self.number:.2f} x" if self.number < 10 else f"{self.number:.0f} x"
            case "modules":
                return f"{self.number:.0f}"


@dataclass(frozen=True, slots=True)
class Aim:
    """What the result should be, at least or at most."""

    bound: Literal["at least", "at most"]
    limit: Value

    def met_by(self, result: Value) -> bool:
        """Whether ``result`` is on the right side."""
        if self.bound == "at least":
            return result.number >= self.limit.number
        return result.number <= self.limit.number

    def __str__(self) -> str:
        return f"{self.bound} {self.limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table."""

    what: str
    ours: Value
    against: str = ""
    theirs: Value | None = None
    result: Value
    aim: Aim | None = None

    @property
    def outcome(self) -> str:
        """Whether the aim was met; empty where there is none."""
        if self.aim is None:
            return ""
        return "met" if self.aim.met_by(self.result) else "MISSED"

    def cells(self) -> tuple[str, ...]:
        """Give the figure as a row of the table."""
        theirs = "" if self.theirs is None else str(self.theirs)
        aim = "" if self.aim is None else str(self.aim)
        ours = str(self.ours)
        return (self.what, ours, self.against, theirs, str(self.result), aim, self.outcome)

    def as_json(self) -> dict[str, object]:
        """Give the figure for the record, in plain units."""
        return {
            "what": self.what,
            "holdfast": [self.ours.number, self.ours.unit],
            "against": self.against or None,
            "theirs": [self.theirs.number, self.theirs.unit] if self.theirs else None,
            "result": [self.result.number, self.result.unit],
            "aim": [self.aim.bound, self.aim.limit.number] if self.aim else None,
            "met": self.aim.met_by(self.result) if self.aim else None,
        }


def span(seconds: float) -> str:
    """Write a span of time in the unit in which it is a handy number."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out in columns."""
    rows = [HEADINGS, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def machine() -> Mapping[str, object]:
    """Say what the figures were taken on: they mean little beside those of another machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "holdfast": holdfast.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def is_busy() -> bool:
    """Whether more wants to run than there are processors, seen over the last minute."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def record(file: Path, machine: Mapping[str, object], figures: Sequence[Figure]) -> None:
    """Write the figures down, and what they were taken on."""
    content = {"machine": machine, "figures": [figure.as_json() for figure in figures]}
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
