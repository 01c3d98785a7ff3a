"""A crew: workers as real processes, started, killed, paused, replaced and sent home.

Everything that is done to them is written down first, in a history of the crew's own, so that the
checker knows what excuses whom. A worker that does not go home in time is ended all the same, but
nothing excuses it: the history then shows one that vanished, and its stderr where it was.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from holdfast.testing.history.form import SUFFIX
from holdfast.testing.history.judge import judge
from holdfast.testing.history.record import Recorder
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Verdict
from holdfast.testing.workload.plan import Mode, Plan
from holdfast.testing.workload.processes import PROGRAM, Forked, Process, spawned
from holdfast.testing.workload.worker import main

CHECKED = b'"do":"checked"'

LOOK_EVERY = 0.01
CHILDREN_END_WITHIN = 10.0
"""How long the kernel may take to end what was killed, on a machine that is busy."""


class Worker:
    """One process of the crew."""

    def __init__(self, name: str, mode: Mode, plan: Plan, process: Process, log: Path) -> None:
        self.name = name
        self.mode: Mode = mode
        self.plan = plan
        self.pid = process.pid
        self.process = process
        self.log = log
        self.paused = False

    @property
    def alive(self) -> bool:
        """Whether the process is there, be it paused."""
        return self.process.poll() is None

    def order_home(self) -> None:
        """Close its stdin: it ends after the turn that it is in."""
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()

    def __repr__(self) -> str:
        return f"<Worker {self.name}, pid {self.pid}>"


class Fault:
    """Something that is being done to some processes, or to all of them."""

    def __init__(self, recorder: Recorder, number: int, kind: str) -> None:
        self.kind = kind
        self._recorder = recorder
        self._number = number
        self._isolating = False

    def isolated(self) -> None:
        """Say that from now on they can certainly not talk to the backend."""
        self._recorder.note("isolated", id=self._number)
        self._isolating = True

    def rejoined(self) -> None:
        """Say that they may be able to from now on; say it before it is so."""
        if self._isolating:
            self._isolating = False
            self._recorder.note("rejoined", id=self._number)


class Crew:
    """The workers of one run. Leaving it ends whoever is still there."""

    def __init__(
        self,
        plan: Plan,
        *,
        forking: bool = False,
        program: Sequence[str] = PROGRAM,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Make a crew without workers; ``forking`` makes them cheaper, see ``processes``.

        Otherwise they run ``program``, with ``environment`` on top of our own.
        """
        self.plan = plan
        self._forking = forking
        self._program = program
        self._environment = environment or {}
        self.folder = Path(plan.folder)
        self.workers: list[Worker] = []
        self._recorder = Recorder(self.folder, "crew", role="crew", seed=plan.seed)
        self._faults = 0
        self._started = 0

    def start(self, mode: Mode, plan: Plan | None = None) -> Worker:
        """Start one more worker; it may have a plan of its own."""
        self._started += 1
        name = f"{mode}-{self._started}"
        log = self.folder / f"{name}.log"
        process = self._process(log)
        worker = Worker(name, mode, plan or self.plan, process, log)
        self.workers.append(worker)
        if process.stdin is not None:
            process.stdin.write(worker.plan.to_line(name, mode).encode() + b"\n")
            process.stdin.flush()
        return worker

    def await_first_words(self, within: float) -> bool:
        """Wait until every living worker has begun its history; say whether that came to be."""
        return _comes_true(
            lambda: all(self._has_begun(worker) for worker in self.workers if worker.alive), within
        )

    def await_first_lease(self, within: float) -> bool:
        """Wait until one of them has held something, and seen that it does; say whether it has."""
        return _comes_true(
            lambda: any(CHECKED in path.read_bytes() for path in self.folder.glob(f"*{SUFFIX}")),
            within,
        )

    @contextmanager
    def fault(
        self,
        kind: str,
        pids: Iterable[int] | None = None,
        *,
        forgets: Literal["some", "all"] | None = None,
        loses: Literal["records", "rates"] | None = None,
        stretch: float = 0.0,
    ) -> Iterator[Fault]:
        """Write down that a fault is on while the block runs; without pids it is on for all.

        ``forgets``, ``loses`` and ``stretch`` are faults of the backend's memory and clock, see
        ``form``.
        """
        self._faults += 1
        fault = Fault(self._recorder, self._faults, kind)
        hit = None if pids is None else list(pids)
        more: dict[str, Any] = {"forgets": forgets} if forgets else {}
        more |= {"loses": loses} if loses else {}
        more |= {"stretch": stretch} if stretch else {}
        self._recorder.note("fault", id=self._faults, kind=kind, pids=hit, **more)
        number = self._faults
        try:
            yield fault
        finally:
            fault.rejoined()
            self._recorder.note("healed", id=number)

    def kill(self, worker: Worker) -> None:
        """Kill a worker with SIGKILL."""
        with self.fault("kill", [worker.pid]):
            worker.process.kill()
            worker.process.wait()

    def replace(self, worker: Worker) -> Worker:
        """Kill a worker and start one like it, with its plan."""
        self.kill(worker)
        return self.start(worker.mode, worker.plan)

    @contextmanager
    def paused(self, worker: Worker) -> Iterator[None]:
        """Stop a worker in its tracks while the block runs."""
        with self.fault("pause", [worker.pid]) as fault:
            worker.process.send_signal(signal.SIGSTOP)
            worker.paused = True
            try:
                os.waitid(os.P_PID, worker.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                fault.isolated()
                yield
            finally:
                fault.rejoined()
                worker.process.send_signal(signal.SIGCONT)
                worker.paused = False

    def failed(self) -> list[Worker]:
        """List workers that have ended although nobody asked them to, or with an error."""
        return [worker for worker in self.workers if worker.process.poll() not in (None, 0, -9)]

    def send_home(self, within: float) -> list[Worker]:
        """Let everybody finish the turn it is in; give those that would not go and were ended."""
        for worker in self.workers:
            worker.order_home()
        give_up_at = time.monotonic() + within
        stuck = [worker for worker in self.workers if not _gone(worker, give_up_at)]
        for worker in stuck:
            worker.process.send_signal(signal.SIGABRT)  # it writes down where it was
        for worker in stuck:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(2)
        self.close()
        return stuck

    def judge(self, terms: Terms | None = None) -> Verdict:
        """Check what the workers have written."""
        return judge(self.folder, terms)

    def close(self) -> None:
        """End whoever is still there; harmless when repeated."""
        for worker in self.workers:
            if worker.alive:
                worker.process.kill()
            worker.process.wait()
            worker.order_home()
            _end_children(worker)
            if worker.process.stdout is not None:
                worker.process.stdout.close()
        self._recorder.close()

    def _process(self, log: Path) -> Process:
        if self._forking:
            return Forked(log, main)
        return spawned(log, self._program, self._environment)

    def _has_begun(self, worker: Worker) -> bool:
        own = self.folder / f"{worker.name}{SUFFIX}"
        return own.exists() or any(self.folder.glob(f"{worker.name}.*{SUFFIX}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _comes_true(condition: Callable[[], bool], within: float) -> bool:
    give_up_at = time.monotonic() + within
    while not condition():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(LOOK_EVERY)
    return True


def _end_children(worker: Worker) -> None:
    """End the children that a worker has forked and that outlive it."""
    if not _gone(worker, time.monotonic()):
        # One of its group has its stdout open, and so nobody else can have got the group's number.
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        _gone(worker, time.monotonic() + CHILDREN_END_WITHIN)


def _gone(worker: Worker, give_up_at: float) -> bool:
    """Wait for the end of a worker and of the children that it has forked."""
    out = worker.process.stdout
    while out is not None and not out.closed:
        left = max(0.0, give_up_at - time.monotonic())
        ready, _, _ = select.select([out], [], [], left)
        if not ready:
            return False
        if not out.read1(4096):  # type: ignore[attr-defined]
            break
    worker.process.wait()
    return True
