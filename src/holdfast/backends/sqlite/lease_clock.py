"""The clock of all leases in a file: the host's boot clock, the same for each of its processes.

A jump of the wall clock cannot end a lease on it, and a reboot ends them all (``schema``). What a
time namespace adds to this process's own view of it is taken off again.
"""

from __future__ import annotations

from holdfast import clock
from holdfast.backends.sqlite.host import boot_offset

_OFFSET = boot_offset()


def now() -> float:
    """Read the clock."""
    return clock.now() - _OFFSET
