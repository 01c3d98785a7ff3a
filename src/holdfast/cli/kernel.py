"""What only the kernel can promise about processes: adoption, death with the parent, who is left.

Linux has all of it. Elsewhere nothing is promised here and the caller falls back on what process
groups alone can tell; docs/cli.md says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of its orphaned descendants, so that it can reap them all."""
    prctl = _prctl()
    if prctl is not None:
        prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def dies_with_this_process() -> Callable[[], None]:
    """Give what a child calls between fork and exec in order to die when we are killed.

    The kernel sends the signal when the *thread* that forked ends: fork in the main thread. It
    reaches the direct child only, and a set-uid command drops it.
    """
    prctl = _prctl()  # looked up before the fork: afterwards nothing should be imported
    parent = os.getpid()

    def arrange() -> None:
        if prctl is not None:
            prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # it died before the kernel knew of our wish
                os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def group_lives(group: int) -> bool:
    """Whether a process group has members that can still run; zombies cannot.

    ``killpg(group, 0)`` counts zombies as well. Those whose parent lives outside of the group and
    does not reap them would keep us for ever, so where there is a /proc it has the last word.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # there is somebody, who is not ours to signal
    try:
        processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return True
    return any(_runs_in(group, entry) for entry in processes)


def _runs_in(group: int, entry: Path) -> bool:
    with contextlib.suppress(OSError):  # it has ended meanwhile
        # pid (name) state parent group …: the name may hold anything, even parentheses
        state, _, its_group = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:3]
        return int(its_group) == group and state not in {b"Z", b"X"}
    return False


def _prctl() -> Callable[[int, int, int, int, int], int] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    function = ctypes.CDLL(None).prctl
    function.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    return cast("Callable[[int, int, int, int, int], int]", function)
