"""Measure holdfast on PostgreSQL: ``make bench-postgres``, or ``-m benchmarks.postgres.run``.

It starts servers of its own. Every figure stands beside what it is set against, measured in the
same run. A missed aim is said in the table and is no failure; the exit code is 1 only if something
could not be measured.
"""

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks import figures
from benchmarks.figures import Figure
from benchmarks.postgres import advisory, cycles, hand_over, size, traffic
from benchmarks.postgres.scale import FULL, QUICK, Scale
from tests.servers.postgres_binaries import chosen_postgres

WORKLOADS: dict[str, Callable[[Scale], list[Figure]]] = {
    "sync-cycle": cycles.measure_sync,
    "async-cycle": cycles.measure_async,
    "hand-over": hand_over.measure,
    "traffic": traffic.measure,
    "size": size.measure,
    "advisory": advisory.measure,
}


def main() -> int:
    """Measure what was asked for, show it, write it down; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--only", action="append", choices=WORKLOADS, metavar="WORKLOAD")
    args = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.ERROR)  # that fsync is off is no news here
    started_at = time.monotonic()
    found: list[Figure] = []
    failed: list[str] = []
    for name in args.only or WORKLOADS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            found += WORKLOADS[name](QUICK if args.quick else FULL)
        except Exception:  # noqa: BLE001 - whatever it is, the others can still be measured
            traceback.print_exc()
            failed.append(name)
    about = machine()
    print(figures.table(found))
    print(f"\n{', '.join(f'{key} {value}' for key, value in about.items())}")
    print(f"took {time.monotonic() - started_at:.0f} s; fsync is off on these servers")
    if figures.is_busy():
        print("this machine does other work too: trust the ratios, not the spans of time")
    if failed:
        print(f"not measured: {', '.join(failed)}")
    if args.json:
        figures.record(args.json, about, found)
    return 1 if failed else 0


def machine() -> Mapping[str, object]:
    """Say what the figures were taken on, server and driver included."""
    about = {key: value for key, value in figures.machine().items() if key != "sqlite"}
    return {**about, "server": chosen_postgres().name, "psycopg": version("psycopg")}


if __name__ == "__main__":
    sys.exit(main())
