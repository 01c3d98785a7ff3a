"""One worker of the demo: a process of its own that does a job under the lock and reports.

This is the part to copy from: a client, a lock, a ``with``, a ``check()`` now and then. The demo
starts it as ``python -m examples.demo.worker``; see ``crew``.
"""

import argparse
import logging
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import holdfast
from examples.demo import report
from examples.demo.report import Report

STEP = 0.01
"""How long a job works between two looks at its lease, and between reading and writing."""


def count(client: holdfast.Client, args: argparse.Namespace) -> None:
    """Add one to the shared counter, many times, each time under the lock."""
    lock = client.lock(args.lock)
    for _ in range(args.times):
        with nullcontext() if args.unlocked else lock:
            add_one(args.counter)
    tell(args.who, report.DONE)


def add_one(counter: Path) -> None:
    """Read, work, write: wrong as soon as two do it at once."""
    found = int(counter.read_text())
    time.sleep(STEP)
    with counter.open("r+") as file:  # not emptied first: whoever looks on always sees a number
        file.write(f"{found + 1:05}")


def hold(client: holdfast.Client, args: argparse.Namespace) -> None:
    """Hold the lock for a while, and stop at once when it is lost."""
    tell(args.who, report.WAITS)
    try:
        with client.lock(args.lock, ttl=args.ttl) as lease:
            tell(args.who, report.HOLDS, lease.token)
            until = time.monotonic() + args.seconds
            while time.monotonic() < until:
                lease.check()
                time.sleep(STEP)
    except holdfast.LockLost as error:
        tell(args.who, report.LOST, error.token, error.message)
    else:
        tell(args.who, report.LEFT, lease.token)


def tell(who: str, what: str, token: int = 0, note: str = "") -> None:
    """Report to the demo, which reads our standard output.

    In one write: holdfast's own thread reports too (what it logs), and the two must not mix.
    """
    os.write(sys.stdout.fileno(), f"{Report(who, what, token, note).to_line()}\n".encode())


class TellingHandler(logging.Handler):
    """Passes on what holdfast logs by itself (it does so when something is wrong)."""

    def __init__(self, who: str) -> None:
        super().__init__()
        self._who = who

    def emit(self, record: logging.LogRecord) -> None:
        """Report one line of the log."""
        tell(self._who, report.LOGGED, note=record.getMessage())


def parsed() -> argparse.Namespace:
    """Read the command line that ``crew`` wrote."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--who", required=True)
    parser.add_argument("--lock", required=True)
    jobs = parser.add_subparsers(required=True)
    counting = jobs.add_parser("count")
    counting.add_argument("--counter", type=Path, required=True)
    counting.add_argument("--times", type=int, required=True)
    counting.add_argument("--unlocked", action="store_true")
    counting.set_defaults(job=count)
    holding = jobs.add_parser("hold")
    holding.add_argument("--seconds", type=float, required=True)
    holding.add_argument("--ttl", type=float, required=True)
    holding.set_defaults(job=hold)
    return parser.parse_args()


def main() -> None:
    """Do the job that the command line names."""
    args = parsed()
    logging.getLogger("holdfast").addHandler(TellingHandler(args.who))
    with holdfast.Client(holder=args.who) as client:
        args.job(client, args)


if __name__ == "__main__":
    main()
