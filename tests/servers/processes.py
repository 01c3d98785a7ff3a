"""Server processes that are never left behind: not by a failed test, not by a killed pytest.

Each has a folder, and in it its log. All are started by one thread, because the signal that ends
them with us is tied to the thread that started them (`tether.py`); the folders go at the end of
the session, or of the process, unless that was killed.
"""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.servers.binaries import Binary

TETHER = Path(__file__).with_name("tether.py")
LONGEST_SOCKET = 100  # bytes; the kernel takes 107 at most

_open: set["ServerProcess"] = set()


class ServerProcess:
    """One server with a folder of its own; it can be started again and again in there."""

    def __init__(self, binary: Binary, environment: Mapping[str, str] | None = None) -> None:
        self.binary = binary
        self._environment = environment or {}
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-", dir=_short_folder()))
        self.log = self.folder / "log"
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        _open.add(self)

    @property
    def pid(self) -> int:
        """The process that was started last."""
        return self._last().pid

    @property
    def running(self) -> bool:
        """Whether there is a process, be it paused."""
        return self._process is not None and self._process.poll() is None

    def launch(self, arguments: Sequence[str], user: int | None = None) -> None:
        """Start the process, as another user if need be; whether it is ready is to be found out."""
        assert not self.running, "it is running already"
        server = [str(self.binary.path), self.binary.called, *arguments]
        me, them = str(os.getpid()), "" if user is None else str(user)
        command = [sys.executable, "-I", "-S", str(TETHER), me, them, *server]

        def start() -> "subprocess.Popen[bytes]":
            with self.log.open("ab") as log:
                return subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env=os.environ | self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for pytest, which then ends the servers
                )

        self._process = _starter(os.getpid()).submit(start).result()

    def check(self) -> None:
        """Raise, with the end of the log, if the process has ended by itself."""
        if not self.running:
            log = self.log.read_text("utf-8", "replace")[-2000:]
            raise RuntimeError(f"{self.binary.called} ended with {self._last().returncode}:\n{log}")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._last().send_signal(number)

    def pause(self) -> None:
        """Stop it where it is, and see that it has stopped."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on."""
        self.send(signal.SIGCONT)

    def ended(self, within: float) -> bool:
        """Wait for its end; say whether it came."""
        try:
            self._last().wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill it for good, paused or not, and wait for its end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Kill it and remove its folder."""
        if self in _open and self._owner == os.getpid():  # a forked child has no say in this
            _open.discard(self)
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _last(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "it was never started"
        return self._process


def close_all() -> None:
    """Close every server of this process that is still open."""
    for process in tuple(_open):
        with contextlib.suppress(OSError):
            process.close()


atexit.register(close_all)


@functools.cache
def _starter(_process: int) -> ThreadPoolExecutor:
    """Give this process its one thread for starting servers: it lasts as long as the process."""
    return ThreadPoolExecutor(1, "server-starter")


def _short_folder() -> str:
    usual = tempfile.gettempdir()
    fits = len(os.fsencode(usual)) + len("/holdfast-12345678/socket") < LONGEST_SOCKET
    return usual if fits else "/tmp"  # noqa: S108 - mkdtemp makes a private folder in it
