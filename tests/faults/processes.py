"""Programs of our own, run as real processes: started, listened to, stopped, killed."""

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent.parent


class Program:
    """One process that runs a module of ``programs`` and reports line by line, as JSON."""

    def __init__(self, program: str, /, **plan: Any) -> None:
        command = [sys.executable, "-m", f"tests.faults.programs.{program}", json.dumps(plan)]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that its children can be ended with it
        )
        self._reports: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def hear(self, within: float = 15.0) -> dict[str, Any]:
        """Give its next report."""
        try:
            return self._reports.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"no word from the program within {within:g} s") from None

    def heard(self) -> list[dict[str, Any]]:
        """Give all that it said before its end; it must have ended."""
        self._reader.join()
        return [self._reports.get() for _ in range(self._reports.qsize())]

    def say(self, line: str = "go") -> None:
        """Write a line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it for good, and wait for its end."""
        self._process.kill()
        self._process.wait()

    def ended(self, within: float = 15.0) -> int:
        """Wait for its end and give its exit code."""
        return self._process.wait(within)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._reports.put(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.kill()
        self._reader.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()


def die_with_parent() -> None:
    """Make a forked child end with its parent, so that a failed test leaves nobody at work."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def report(**facts: Any) -> None:
    """Tell the test something, from inside a program."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def plan() -> dict[str, Any]:
    """Read, inside a program, what the test wants."""
    found: dict[str, Any] = json.loads(sys.argv[1])
    return found
