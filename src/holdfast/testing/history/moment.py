"""The clock of histories: nanoseconds since boot, the same for all processes of one host.

Moments of two hosts, or of two boots, cannot be compared; the mark of the boot stands in the first
line of each file, so that a reader can refuse to mix them.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

SECOND = 1_000_000_000

now_ns: Callable[[], int]
"""Read the clock."""

if hasattr(time, "CLOCK_BOOTTIME"):
    now_ns = partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
else:
    now_ns = time.monotonic_ns


def boot_mark() -> str:
    """Say which host this is, since which boot."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        boot = "unknown boot"
    return f"{platform.node()} {boot}"
