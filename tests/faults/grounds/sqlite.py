"""A file that all workers share. There is no server to kill, and no network to cut."""

import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from holdfast.testing.verify.torments import LONG, SHORT, Scene, Torment
from tests.faults.clock import WallClock
from tests.faults.ground import Ground, quiet

BUSY_FOR = 30.0
FILES = ("", "-wal", "-shm")


class SqliteGround(Ground):
    """One file in a folder of its own."""

    name = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-faults-")
        self._file = Path(self._folder.name) / "locks.db"
        clock = Path(self._folder.name) / "clock"
        self._clock = WallClock(clock)
        self.program = (sys.executable, "-m", "tests.faults.clocked", str(clock))

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def url(self) -> str:
        """Give the URL of the file."""
        return f"sqlite:///{self._file}"

    def torments(self) -> tuple[Torment, ...]:
        """List what can happen to the file, and to the clocks of those who use it."""
        clocks = (self.clocks_ahead, self.clocks_back)
        return (self.locked, self.read_for_long, self.packed, self.deleted, *clocks)

    def undisturbed(self) -> tuple[Torment, ...]:
        """List what would wait for ever for a worker that was paused inside a transaction."""
        return (self.locked, self.read_for_long, self.packed)

    def locked(self, scene: Scene) -> None:
        """Let another program have the file for itself for a while."""
        with scene.crew.fault("file locked") as fault:
            connection = self._opened()
            try:
                connection.execute("BEGIN EXCLUSIVE")
                fault.isolated()
                scene.wait(scene.dice.choice([SHORT, LONG]))
                fault.rejoined()
                connection.execute("ROLLBACK")
            finally:
                connection.close()

    def read_for_long(self, scene: Scene) -> None:
        """Let another program read for so long that the journal cannot be taken in."""
        with scene.crew.fault("file read for long"):
            connection = self._opened()
            try:
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM names").fetchall()
                scene.wait(LONG)
                connection.execute("ROLLBACK")
            finally:
                connection.close()

    def packed(self, scene: Scene) -> None:
        """Let another program take the journal in, and pack the file anew."""
        with scene.crew.fault("file packed"):
            connection = self._opened()
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("VACUUM")
            finally:
                connection.close()

    def deleted(self, scene: Scene) -> None:
        """Delete the file under everybody's feet: what it knew is forgotten."""
        with scene.crew.fault("file deleted", forgets="all"):
            for suffix in FILES:
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
            quiet()  # until all have noticed: what they write meanwhile goes with the old file

    def clocks_ahead(self, scene: Scene) -> None:
        """Set everybody's wall clock forward: leases run on another one, and nothing happens."""
        with scene.crew.fault("clocks ahead"):
            self._clock.turn(scene.dice.uniform(5.0, 50.0))

    def clocks_back(self, scene: Scene) -> None:
        """Set everybody's wall clock back. The file is not deleted before it has caught up."""
        seconds = scene.dice.uniform(0.5, 2.0)
        with scene.crew.fault("clocks back"):
            self._clock.turn(-seconds)
            time.sleep(seconds)

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=BUSY_FOR, isolation_level=None)
