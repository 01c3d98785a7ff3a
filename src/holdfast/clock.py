"""The clock of every deadline: one that goes on while the host sleeps, where there is one.

A monotonic clock that stops in suspend would let a holder wake up believing in a lease that the
server ended hours ago.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

now: Callable[[], float]
"""Read the clock, in seconds since some fixed moment."""

if hasattr(time, "CLOCK_BOOTTIME"):
    now = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
else:  # macOS: its monotonic clock goes on in sleep
    now = time.monotonic
