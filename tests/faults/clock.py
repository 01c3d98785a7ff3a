"""A wall clock that can be set, for the processes that are started with it.

A file says how far it is off. Workers read it themselves (`clocked.py`); a server needs libfaketime
(Debian's package of that name), a library that is loaded before all others. The monotonic clocks
stay as they are.
"""

from pathlib import Path

from tests.servers.binaries import Binary

LIBRARY = "faketime/libfaketimeMT.so.1"
MISSING = "a server's clock that jumps: libfaketime is not installed (apt-get install libfaketime)"
HANGS = "a server's clock that jumps: Debian's redis-server (its jemalloc) hangs under libfaketime"


class WallClock:
    """The wall clock of some processes; ``offset`` is how many seconds it is ahead."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.offset = 0.0
        self.turn(0.0)

    @staticmethod
    def library() -> Path | None:
        """Find the library, if it is installed."""
        places = [Path("/usr/lib"), *Path("/usr/lib").glob("*-linux-*")]
        return next((place / LIBRARY for place in places if (place / LIBRARY).exists()), None)

    @classmethod
    def why_not(cls, server: Binary) -> str:
        """Say why a server cannot be given such a clock, if it cannot."""
        if cls.library() is None:
            return MISSING
        return HANGS if server.name == "debian" else ""

    @property
    def environment(self) -> dict[str, str]:
        """Give what a server must be started with to have this clock."""
        return {
            "LD_PRELOAD": str(self.library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def turn(self, seconds: float) -> None:
        """Set it forward, or back, by so much."""
        self.offset += seconds
        new = self._file.with_suffix(".new")
        new.write_text(f"{self.offset:+.3f}\n")
        new.replace(self._file)  # never half a number
