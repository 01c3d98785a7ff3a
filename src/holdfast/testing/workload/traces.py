"""What a crew leaves on its backend, by name, so that it can be taken away without searching.

Every name that an actor uses follows from the plan, from ``errands``, and from the time at which it
worked; only the ids of clients are drawn by chance, and those stand in the heads of the histories.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.testing.history.form import SUFFIX
from holdfast.testing.history.moment import SECOND
from holdfast.testing.workload.errands import CELLS, JOB, KEY_LASTS, QUOTA, key_at
from holdfast.testing.workload.kinds import kind_of
from holdfast.values import Space, apart


class Traces(NamedTuple):
    """Names of claims as backends know them, records, buckets, and the ids of the clients."""

    claims: tuple[str, ...] = ()
    records: tuple[tuple[Space, str], ...] = ()
    buckets: tuple[tuple[Space, str], ...] = ()
    clients: tuple[str, ...] = ()


def traces(names: Sequence[str], folder: Path, since: int, until: int) -> Traces:
    """Name all that a crew with these names can have left from one moment to another."""
    step = round(KEY_LASTS * SECOND)
    keys = [key_at(moment) for moment in range(since - since % step, until + 1, step)]
    records: list[tuple[Space, str]] = [("cell", cell) for cell in CELLS]
    records += [("once", key) for key in keys]
    records += [("singleton", JOB)]
    records += [("lead", name) for name in names if kind_of(name) == "lead"]
    return Traces(
        claims=(*names, *(apart("once", key) for key in keys), apart("singleton", JOB)),
        records=tuple(records),
        buckets=(("limiter", QUOTA),),
        clients=_clients(folder),
    )


def _clients(folder: Path) -> tuple[str, ...]:
    """Read who wrote the histories; whoever was killed before its first line had done nothing."""
    found: dict[str, None] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with path.open("rb") as lines:
            line = lines.readline()
        client = json.loads(line).get("client") if line.endswith(b"\n") else None
        if client is not None:
            found[client] = None
    return tuple(found)
