"""Clocks that can be set: a server's where libfaketime is installed, a worker's anywhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.clock import HANGS, MISSING, WallClock
from tests.faults.ground import ROOT
from tests.faults.grounds.redis import RedisGround
from tests.servers.binaries import Binary

PROGRAM = """
import sys, time
from pathlib import Path
from tests.faults.clocked import set_by
true = time.time()
set_by(Path(sys.argv[1]))
print(time.time() - true, time.time_ns() / 1e9 - true)
"""


def test_where_no_clock_can_be_set_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out in silence."""
    monkeypatch.setattr(WallClock, "library", staticmethod(lambda: None))
    ground = RedisGround()
    try:
        names = {torment.__name__ for torment in ground.torments()}
        assert {"clock_ahead", "clock_back"}.isdisjoint(names)
        assert {"emptied", "frozen", "outage"} <= names
        assert ground.left_out == [MISSING]
    finally:
        ground.close()


def test_a_server_that_cannot_have_such_a_clock_is_known() -> None:
    """Debian's Redis is not even tried."""
    debian = Binary(name="debian", path=Path("/nowhere"), called="redis-server")
    expected = MISSING if WallClock.library() is None else HANGS
    assert WallClock.why_not(debian) == expected


def test_a_worker_lives_by_the_clock_of_its_file(tmp_path: Path) -> None:
    """Both ways to ask for the time are off by what the file says."""
    clock = WallClock(tmp_path / "clock")
    clock.turn(5000.0)
    clock.turn(-1000.0)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "clock")]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    ahead = [float(number) for number in done.stdout.split()]
    assert len(ahead) == 2
    assert all(4000 <= one < 4020 for one in ahead), ahead
