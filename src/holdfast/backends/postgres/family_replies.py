"""What the functions of records and buckets answer, as the values of their rules."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from holdfast.rules.bucket_messages import GaveBack, Short, Take, Terms, Took
from holdfast.rules.messages import Refused, Reply, Request
from holdfast.rules.record_messages import Entry, Moved, Swapped


def read(request: Request, raw: list[Any]) -> Reply:  # noqa: PLR0911 - one for each letter
    """Read one reply; ``raw[0]`` is the birth mark, ``raw[1]`` a letter for what it is."""
    _, what, *cells = raw
    if what == "o":
        return Took(*cells)
    if what == "c":
        return Short(*cells)
    if what == "t":
        return _entry(cells[0])
    if what == "p":
        return Swapped(*cells)
    if what == "m":
        why, entry, certain = cells
        return Moved(why, _entry(entry), certain)
    if what == "r":
        return _other_terms(request, cells[1])
    if what == "v":
        return GaveBack(cells[0])
    raise ValueError(f"the database answered {what!r}, which nobody here has heard of")


def _entry(cells: list[Any]) -> Entry:
    value, version, left, fence, at = cells
    return Entry(None if value is None else b64decode(value), version, left, fence, at)


def _other_terms(request: Request, theirs: list[int] | str) -> Refused:
    if theirs:
        return Refused("terms", f"it is in use with {_words(Terms(*theirs))}")
    wanted = _words(request.terms) if isinstance(request, Take) else "these terms"
    return Refused("terms", f"{wanted}: too little or too much to count")


def _words(terms: Terms) -> str:
    return f"{terms.amount} permits per {terms.period / 1e6:g} s and a burst of {terms.burst}"
