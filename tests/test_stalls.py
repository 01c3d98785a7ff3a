"""The tool that lets tests stand still: it stops what carries its mark, and lets it go on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.watching import eventually
from tests.stalls import MARK, marked, stall

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")

COUNTING = """
import time
last = time.monotonic()
longest = 0.0
until = last + 6
while longest < 0.2 and last < until:
    time.sleep(0.001)
    now = time.monotonic()
    last, longest = now, max(longest, now - last)
raise SystemExit(7 if longest >= 0.2 else 1)
"""


def test_a_command_stands_still_and_gives_its_exit_code() -> None:
    """It notices that time has passed while it did nothing."""
    tool = [sys.executable, "-m", "tests.stalls", "--length", "0.8", "--every", "0.5", "--"]
    command = [*tool, sys.executable, "-c", COUNTING]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 7


def test_what_somebody_else_has_stopped_stays_so() -> None:
    """A process that a test has stopped is not among those that are stopped, and let go, by us."""
    environment = {**os.environ, MARK: "known"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1, env=environment) as one:
        eventually(lambda: marked("known") == [one.pid], what="a marked process")
        one.send_signal(signal.SIGSTOP)
        eventually(lambda: marked("known") == [], what="that it is stopped")
        stall(marked("known"), 0.0)
        assert marked("known") == []
        one.send_signal(signal.SIGCONT)
        one.communicate(b"\n")
