"""Spans of time as users write them, turned into float seconds once, at the edge.

Inside, every span is a ``float``; nobody checks it again. Written forms: a number of seconds, a
``timedelta``, or a short string such as ``"250ms"``, ``"10s"``, ``"5m"``, ``"2h"``, ``"7d"``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import Misuse

if TYPE_CHECKING:
    from datetime import timedelta

Duration: TypeAlias = "float | int | str | timedelta"

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_LONGEST = 10 * 365 * 86400.0


def seconds(value: Duration, what: str) -> float:
    """Give ``value`` in seconds, or raise ``Misuse`` that says how to write it."""
    if isinstance(value, (float, int)) and not isinstance(value, bool):
        span = float(min(value, 2 * _LONGEST))  # a whole number may be too large for a float
    elif isinstance(value, str):
        span = _read(value, what)
    elif hasattr(value, "total_seconds"):
        span = value.total_seconds()
    else:
        raise Misuse(
            f"{what} must be seconds, a timedelta or a string like '250ms' or '10s', not {value!r}"
        )
    if not 0 <= span <= _LONGEST:
        raise Misuse(f"{what} must be between 0 and ten years, not {value!r}")
    return span


def positive(value: Duration, what: str) -> float:
    """Give ``value`` in seconds; zero is refused too."""
    span = seconds(value, what)
    if span <= 0:
        raise Misuse(f"{what} must be longer than zero, not {value!r}")
    return span


def readable(span: float) -> str:
    """Write a span for a person: ``"250 ms"``, ``"4.2 s"``, ``"3 min"``."""
    if span < 1:
        return f"{span * 1000:.0f} ms"
    if span < 2 * _UNITS["m"]:
        return f"{span:.1f} s"
    if span < 2 * _UNITS["h"]:
        return f"{span / 60:.0f} min"
    return f"{span / 3600:.1f} h"


def _read(text: str, what: str) -> float:
    parts = _WRITTEN.findall(text.replace(" ", ""))
    if not parts or "".join(number + unit for number, unit in parts) != text.replace(" ", ""):
        raise Misuse(
            f"{what} {text!r} is not a duration; write it like '250ms', '10s', '5m', '2h' or '7d'"
        )
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
