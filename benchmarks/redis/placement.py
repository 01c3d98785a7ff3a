"""Which processors the servers and this process run on while a single caller is measured.

One caller and its server take turns: never are both at work. What it costs to wake the other up
then depends on where it sleeps, and on a virtual machine a processor that sleeps is slow to wake.
Left to the scheduler, both move about and the figures jump by a factor; so it is said where they
are. Many callers are left alone: they keep both processors awake.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

Placement = Literal["two cores", "one core", "free"]


def placements(callers: int) -> tuple[Placement, ...]:
    """Say where so many callers are measured; one that cannot be placed is left alone."""
    can_place = hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1
    return ("two cores", "one core") if callers == 1 and can_place else ("free",)


@contextmanager
def placed(where: Placement, *servers: int) -> Iterator[None]:
    """Keep the servers' processes and this one there, with all threads; then free them again."""
    if where == "free":
        yield
        return
    usual = os.sched_getaffinity(0)
    first, *_, last = sorted(usual)
    _keep({first}, *servers)
    _keep({last if where == "two cores" else first}, os.getpid())
    try:
        yield
    finally:
        _keep(usual, *servers, os.getpid())


def _keep(cores: set[int], *processes: int) -> None:
    for process in processes:
        for thread in Path(f"/proc/{process}/task").iterdir():
            # A thread may have ended since it was listed: a keeper of the measurement before.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), cores)
