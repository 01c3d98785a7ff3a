"""One process gives back, another that waits gets in: the gap between the two.

Stamps are on the monotonic clock, which the processes of a host share: the first is taken just
before the holder gives back, the second as the first thing in the waiter's body. The holder holds
for a random while, so that a rival that polls is met at every moment of its sleep.
"""

import fcntl
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figures import Aim, Figure, Value
from benchmarks.rounds import Samples, interleaved, percentile
from benchmarks.scale import Scale

AIM = Aim("at least", Value(20, "times"))
SHORTEST_HOLD, LONGEST_HOLD = 0.01, 0.06
"""As wide as the time that filelock sleeps between two looks."""

Lock = Callable[[], AbstractContextManager[object]]


def measure(scale: Scale) -> list[Figure]:
    """Measure the hand-over against filelock, and against the kernel's own blocking lock."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, ExitStack() as stack:
        rivals = {kind: stack.enter_context(_pair(kind, Path(folder))) for kind in LOCKS}
        samples = interleaved(rivals, scale.hand_overs)
    return [
        _figure(samples, "filelock (it polls)", "filelock", 50, AIM),
        _figure(samples, "filelock (it polls)", "filelock", 99, None),
        _figure(samples, "flock, blocking", "flock", 50, None),
        _figure(samples, "flock, blocking", "flock", 99, None),
    ]


def _figure(samples: Samples, against: str, theirs: str, percent: int, aim: Aim | None) -> Figure:
    our_gap, their_gap = (
        percentile(samples["holdfast"], percent),
        percentile(samples[theirs], percent),
    )
    return Figure(
        what=f"hand-over between processes, p{percent}",
        ours=Value(our_gap, "s"),
        against=against,
        theirs=Value(their_gap, "s"),
        result=Value(their_gap / our_gap, "times"),
        aim=aim,
    )


@contextmanager
def _pair(kind: str, folder: Path) -> Iterator[Callable[[], float]]:
    """Start a process that waits in line; give what makes one hand-over to it and times it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    waiter = context.Process(target=_wait_in_line, args=(kind, folder, theirs), daemon=True)
    waiter.start()
    with LOCKS[kind](folder) as lock:

        def hand_over() -> float:
            with lock():
                ours.send("get in line")
                time.sleep(random.uniform(SHORTEST_HOLD, LONGEST_HOLD))
                given_back_at = time.monotonic()
            entered_at: float = ours.recv()
            return entered_at - given_back_at

        try:
            yield hand_over
        finally:
            waiter.kill()
            waiter.join()


def _wait_in_line(kind: str, folder: Path, told: Connection) -> None:
    """Be the other process: get in line when told, and say when the body began."""
    with LOCKS[kind](folder) as lock:
        while told.recv():
            with lock():
                entered_at = time.monotonic()
            told.send(entered_at)


@contextmanager
def _holdfast(folder: Path) -> Iterator[Lock]:
    import holdfast

    with holdfast.Client(f"sqlite:///{folder}/ours.db") as client:
        lock = client.lock("bench")
        yield lambda: lock


@contextmanager
def _filelock(folder: Path) -> Iterator[Lock]:
    import filelock

    lock = filelock.FileLock(folder / "filelock")
    yield lock.acquire


@contextmanager
def _flock(folder: Path) -> Iterator[Lock]:
    with (folder / "flock").open("w") as file:

        @contextmanager
        def flocked() -> Iterator[None]:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

        yield flocked


LOCKS: dict[str, Callable[[Path], AbstractContextManager[Lock]]] = {
    "holdfast": _holdfast,
    "filelock": _filelock,
    "flock": _flock,
}
