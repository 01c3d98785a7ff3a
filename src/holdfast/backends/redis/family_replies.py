"""What the scripts of records and buckets answer, as the values of their rules."""

from __future__ import annotations

from typing import Any

from holdfast.backends.redis import faults
from holdfast.rules.bucket_messages import GaveBack
from holdfast.rules.messages import NameRequest, Reply
from holdfast.rules.record_messages import Entry, Moved, Swapped


def read(request: NameRequest, raw: list[Any]) -> Reply:
    """Read one reply; ``raw[0]`` is the birth mark, ``raw[1]`` what it is."""
    _, what, *cells = raw
    if what == b"entry":
        return _entry(cells[0])
    if what == b"swapped":
        return Swapped(*cells)
    if what == b"moved":
        why, certain, entry = cells
        return Moved(why.decode(), _entry(entry), certain == 1)
    if what == b"gave back":
        return GaveBack(cells[0].decode())
    if what == b"withheld":
        raise faults.withheld(request.name, cells[0] / 1e6)
    raise faults.too_new(request.name)


def _entry(cells: list[Any]) -> Entry:
    value, version, left, fence, at = cells
    return Entry(value, version, None if left < 0 else left, fence, at)
