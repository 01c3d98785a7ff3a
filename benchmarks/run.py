"""Measure holdfast: ``make bench``, or ``python -m benchmarks.run [WORKLOAD…]``.

Every figure stands beside what it is set against, measured in the same run. A missed aim is said
in the table and is no failure; the exit code is 1 only if something could not be measured.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import command, figures, hand_over, idle_waiters, importing, lock_cycle, task_cycle
from benchmarks.figures import Figure
from benchmarks.scale import FULL, QUICK, Scale

WORKLOADS: dict[str, Callable[[Scale], list[Figure]]] = {
    "lock-cycle": lock_cycle.measure,
    "task-cycle": task_cycle.measure,
    "hand-over": hand_over.measure,
    "idle-waiters": idle_waiters.measure,
    "command": command.measure,
    "importing": importing.measure,
}


def main() -> int:
    """Measure what was asked for, show it, write it down; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("workload", nargs="*", help=f"all, or some of: {', '.join(WORKLOADS)}")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    args = parser.parse_args()
    if unknown := set(args.workload) - set(WORKLOADS):
        parser.error(f"there is no workload {', '.join(sorted(unknown))}")
    started_at = time.monotonic()
    machine = figures.machine()
    found, failed = measured(args.workload or WORKLOADS, QUICK if args.quick else FULL)
    print(figures.table(found))
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    print(f"\n{about}; took {time.monotonic() - started_at:.0f} s")
    if figures.is_busy():
        print("this machine does other work too: trust the ratios, not the spans of time")
    if failed:
        print(f"not measured: {', '.join(failed)}")
    if args.json:
        figures.record(args.json, machine, found)
    return 1 if failed else 0


def measured(names: Iterable[str], scale: Scale) -> tuple[list[Figure], list[str]]:
    """Measure these workloads; give the figures, and the names of those that failed."""
    found: list[Figure] = []
    failed: list[str] = []
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            found += WORKLOADS[name](scale)
        except Exception:  # noqa: BLE001 - whatever it is, the others can still be measured
            traceback.print_exc()
            failed.append(name)
    return found, failed


if __name__ == "__main__":
    sys.exit(main())
