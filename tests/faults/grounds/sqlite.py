"""A file that all workers share. There is no server to kill, and no network to cut."""

import sqlite3
import tempfile
from pathlib import Path

from holdfast.testing.verify.torments import LONG, SHORT, Scene, Torment
from tests.faults.ground import Ground
from tests.faults.redis_faults import quiet

BUSY_FOR = 30.0
FILES = ("", "-wal", "-shm")


class SqliteGround(Ground):
    """One file in a folder of its own."""

    name = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-faults-")
        self._file = Path(self._folder.name) / "locks.db"

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def url(self) -> str:
        """Give the URL of the file."""
        return f"sqlite:///{self._file}"

    def torments(self) -> tuple[Torment, ...]:
        """List what another process can do to the file."""
        return (self.locked, self.read_for_long, self.checkpointed, self.deleted)

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

    def checkpointed(self, scene: Scene) -> None:
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
        quiet()

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=BUSY_FOR, isolation_level=None)
