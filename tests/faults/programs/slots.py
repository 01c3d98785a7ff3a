"""Run a job of five milliseconds per slot, with a wall clock that is wrong, until told to stop."""

import random
import sys
import threading
import time

from holdfast import Client
from tests.faults.processes import plan, report

JOB = 0.005


def set_clock_wrong(skew: float, *, altogether: bool) -> None:
    """Let this process believe in another time of day.

    ``altogether``: also where holdfast itself could look. On SQLite the backend's clock is the
    host's, read in this very process, so there only the program's own clock can be wrong.
    """
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + skew
    if altogether:
        time.time_ns = lambda: nanoseconds() + int(skew * 1e9)


def listen(told_to_stop: threading.Event) -> None:
    """Wait for a word on stdin."""
    sys.stdin.readline()
    told_to_stop.set()


def main() -> None:
    """Report each completed run by the beginning of its slot."""
    given = plan()
    dice = random.Random(given["worker"])
    set_clock_wrong(dice.uniform(-30, 30), altogether=given["url"].startswith("redis"))
    told_to_stop = threading.Event()
    threading.Thread(target=listen, args=(told_to_stop,), daemon=True).start()
    with Client(given["url"], holder=f"worker {given['worker']}") as client:
        singleton = client.singleton(given["name"], given["per"], ttl=0.5)
        report(ready=True)
        while not told_to_stop.is_set():
            turn = singleton.turn()
            if turn is not None:
                with turn:
                    assert turn._opened is not None
                    slot = turn._opened.slot.starts_at
                    time.sleep(JOB)
                    turn.complete()
                report(slot=slot, worker=given["worker"])
            told_to_stop.wait(dice.uniform(0.05, 0.15))
    report(stopped=True)


if __name__ == "__main__":
    main()
