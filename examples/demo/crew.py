"""The demo's workers as processes: started, heard, killed, paused, and never left behind."""

import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from examples.demo import report
from examples.demo.report import Report

ROOT = Path(__file__).parents[2]


class Crew:
    """The workers around one lock. Leaving it kills whoever is still there.

    The pid of each is added to ``pids``, for whoever wants to look for them afterwards.
    """

    def __init__(self, lock: str, pids: list[int]) -> None:
        self._lock = lock
        self._pids = pids
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._told: queue.SimpleQueue[Report] = queue.SimpleQueue()

    def start(self, who: str, *job: str) -> None:
        """Start a worker; what it reports can be heard from now on."""
        program = [sys.executable, "-m", "examples.demo.worker", "--who", who, "--lock", self._lock]
        process = subprocess.Popen(
            [*program, *job],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the demo, which then ends its workers
        )
        self._processes[who] = process
        self._pids.append(process.pid)
        assert process.stdout is not None
        listening = (who, process.stdout, self._told)
        threading.Thread(target=_listen, args=listening, daemon=True).start()

    def hear(self, until: float) -> Report | None:
        """Give the next report; ``None`` if there is none before ``until``."""
        try:
            return self._told.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None

    def kill(self, who: str) -> float:
        """Kill a worker -9; give the moment of it."""
        return self._signal(who, signal.SIGKILL)

    def pause(self, who: str) -> float:
        """Stop a worker in its tracks; give the moment of it."""
        return self._signal(who, signal.SIGSTOP)

    def resume(self, who: str) -> float:
        """Let a paused worker go on; give the moment of it."""
        return self._signal(who, signal.SIGCONT)

    def _signal(self, who: str, signum: signal.Signals) -> float:
        at = time.monotonic()
        self._processes[who].send_signal(signum)
        return at

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            if error is None and self._ends_by_itself(process):
                continue
            process.kill()
            process.wait()

    @staticmethod
    def _ends_by_itself(process: subprocess.Popen[str]) -> bool:
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return False
        return True


def _listen(who: str, lines: IO[str], told: queue.SimpleQueue[Report]) -> None:
    with lines:
        for line in lines:
            told.put(Report.from_line(line))
    told.put(Report(who, report.GONE))
