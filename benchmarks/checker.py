"""How fast the history checker is: a right history of a million operations, judged by all rules.

Run it with ``make bench-checker``, or ``python -m benchmarks.checker --operations 100000``. It ends
with 1 if the million takes more than a minute of CPU time, or if the verdict is wrong.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from holdfast.testing.history.judge import judge
from holdfast.testing.history.record import Recorder
from holdfast.testing.history.terms import Terms

LIMIT = 60.0
NAMES, SHARED, WORKERS, CHECKS = 20, 5, 64, 3
PER_STAY = CHECKS + 2  # held, the checks, left


def write(folder: Path, operations: int) -> None:
    """Let workers take turns on names, in line and with faults now and then."""
    workers = [Recorder(folder, f"w{number}") for number in range(WORKERS)]
    crew = Recorder(folder, "crew", role="crew")
    now, faults = 1_000_000_000, 0
    for turn in range(operations // PER_STAY):
        worker = workers[turn * 7 % WORKERS]
        n = worker.claim()
        now += 1_000_000
        shared = turn % NAMES < SHARED  # held by several at a time
        order = {"n": n, "name": f"name-{turn % NAMES}", "ttl": 2.0, "wait": None}
        worker.note("ask", at=now, capacity=WORKERS if shared else 1, **order)
        worker.note("queued", at=now + 10_000, n=n)
        worker.note("held", at=now + 50_000, n=n, token=turn + 1)
        step = 15_000_000 if shared else 10_000
        for check in range(1, CHECKS + 1):
            worker.note("checked", at=now + 50_000 + check * step, n=n)
        left_at = now + 60_000 + (CHECKS + 1) * step
        worker.note("left", at=left_at, n=n, since=left_at - 5_000, how="released")
        if turn % 500 == 0:
            faults += 1
            crew.note("fault", at=now + 200_000, id=faults, kind="cut", pids=None)
            crew.note("healed", at=now + 300_000, id=faults)
    for worker in workers:
        worker.note("end", at=now + 100_000_000)
        worker.close()
    crew.close()


def main() -> int:
    """Write, judge, and say how long it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checker", description=__doc__)
    parser.add_argument("--operations", type=int, default=1_000_000)
    operations = parser.parse_args().operations
    with tempfile.TemporaryDirectory(prefix="holdfast-checker-") as folder:
        write(Path(folder), operations)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        verdict = judge(Path(folder), Terms(waiting_limit=10, idle_limit=10, recovery=0.01))
        took = time.process_time() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(verdict.summary())
    print(f"judged by {len(verdict.judged)} rules: {verdict.judged}")
    print(f"{verdict.operations:,} operations, {size / 1e6:.0f} MB of history")
    print(f"{took:.1f} s of CPU, {verdict.operations / took:,.0f} operations a second")
    print(f"memory grew by {grown / 1024:.0f} MB")
    in_time = took <= LIMIT * operations / 1_000_000
    return 0 if in_time and verdict.ok and verdict.operations == operations else 1


if __name__ == "__main__":
    sys.exit(main())
