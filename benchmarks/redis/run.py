"""Measure holdfast on Redis: ``make bench-redis``, or ``python -m benchmarks.redis.run``.

It starts servers of its own. Every figure stands beside what it is set against, measured in the
same run. A missed aim is said in the table and is no failure; the exit code is 1 only if something
could not be measured.
"""

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks import figures
from benchmarks.figures import Figure
from benchmarks.redis import (
    async_cycle,
    blocked,
    crowded,
    hand_over,
    kept,
    limited,
    peers,
    shared_hand_over,
    sync_cycle,
)
from benchmarks.redis.scale import FULL, QUICK, Scale
from tests.servers.binaries import chosen

WORKLOADS: dict[str, Callable[[Scale], list[Figure]]] = {
    "sync-cycle": sync_cycle.measure,
    "async-cycle": async_cycle.measure,
    "hand-over": hand_over.measure,
    "hand-over-shares": shared_hand_over.measure_shares,
    "hand-over-permits": shared_hand_over.measure_permits,
    "elections": shared_hand_over.measure_elections,
    "blocked": blocked.measure,
    "kept": kept.measure,
    "crowded": crowded.measure,
    "limited": limited.measure,
}

STDOUT = Path("/dev/stdout")


def main() -> int:
    """Measure what was asked for, show it, write it down; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redis.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.add_argument(
        "--json",
        type=Path,
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        help="also write the figures here; without a file, give them instead of the table",
    )
    parser.add_argument(
        "--only", action="append", choices=WORKLOADS, metavar="WORKLOAD", help=_names()
    )
    args = parser.parse_args()
    # That a server without a disk forgets is no news here; also for the processes we start.
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    started_at = time.monotonic()
    about = machine()
    found, failed = measured(args.only or WORKLOADS, QUICK if args.quick else FULL)
    if args.json != STDOUT:
        print(figures.table(found))
        print(f"\n{_line(about)}; took {time.monotonic() - started_at:.0f} s")
        if figures.is_busy():
            print("this machine does other work too: trust the ratios, not the spans of time")
        if peers.MISSING:
            print(f"not installed, so left out: {', '.join(sorted(peers.MISSING))}")
        if failed:
            print(f"not measured: {', '.join(failed)}")
    if args.json:
        figures.record(args.json, about, found)
    return 1 if failed else 0


def _names() -> str:
    return f"one of {', '.join(WORKLOADS)}; may be given several times"


def _line(about: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in about.items())


def machine() -> Mapping[str, object]:
    """Say what the figures were taken on, server and peers included."""
    about = {key: value for key, value in figures.machine().items() if key != "sqlite"}
    packages = ["hiredis", *("redis",) * (peers.REDIS_PY in peers.PEERS)]
    return {**about, "server": chosen().name, **{name: version(name) for name in packages}}


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
