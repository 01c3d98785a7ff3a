"""Run a command while all of its processes, or a few of them, stand still now and then.

A busy machine does that to tests. What they assert must not depend on it: a test that fails once in
a hundred runs on somebody else's machine fails here within a few.

    python -m tests.stalls -- python -m pytest tests/conformance
    python -m tests.stalls --few -- python -m pytest tests/conformance

The processes are known by a mark in their environment, so servers and grandchildren stop too. Those
that a test has stopped itself are left alone. Linux only.
"""

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "HOLDFAST_TEST_STALLS"

STOPPED_OR_GONE = "TtZX"
"""States, as the kernel says them, of processes that are not ours to stop."""

FEW = 12
"""With ``--few``, one of so many processes stops."""


def main() -> int:
    """Run the command; give its exit code."""
    given = _arguments()
    mark = secrets.token_hex(8)
    running = subprocess.Popen(given.command, env={**os.environ, MARK: mark})
    dice = random.Random(given.seed)
    while running.poll() is None:
        time.sleep(given.every * dice.uniform(0.5, 1.5))
        victims = marked(mark)
        if given.few and victims:
            victims = dice.sample(victims, max(1, len(victims) // FEW))
        stall(victims, given.length * dice.uniform(0.5, 1.0))
    return running.returncode


def marked(mark: str) -> list[int]:
    """Find the processes that carry a mark and are at work."""
    wanted = f"{MARK}={mark}".encode()
    return sorted(
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and _is_at_work(folder, wanted)
    )


def stall(pids: Iterable[int], seconds: float) -> None:
    """Stop processes for so long."""
    stopped = [pid for pid in pids if _was_sent(pid, signal.SIGSTOP)]
    try:
        time.sleep(seconds)
    finally:
        for pid in stopped:
            _was_sent(pid, signal.SIGCONT)


def _is_at_work(folder: Path, wanted: bytes) -> bool:
    try:
        if wanted not in (folder / "environ").read_bytes().split(b"\0"):
            return False
        state = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except OSError:  # it has just ended, or is somebody else's
        return False
    return state not in STOPPED_OR_GONE


def _was_sent(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.stalls", description=__doc__)
    parser.add_argument("--few", action="store_true", help="stop a few of them, not all")
    parser.add_argument("--length", type=float, default=0.8, help="seconds, at most")
    parser.add_argument("--every", type=float, default=3.0, help="seconds, on average")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
