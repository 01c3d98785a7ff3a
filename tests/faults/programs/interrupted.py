"""Be interrupted at random moments, as by a Ctrl-C, while taking and giving back a lock."""

import gc
import random
import signal
import time
import warnings
from types import FrameType

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Do what Python does on Ctrl-C."""
    raise KeyboardInterrupt


def main() -> None:
    """Take and give back, with an alarm that may ring anywhere in between."""
    warnings.simplefilter("ignore", ResourceWarning)  # a lease dropped on the way out says so
    signal.signal(signal.SIGALRM, interrupt)
    dice = random.Random(given["seed"])
    client = Client(given["url"], ttl=60, call_limit=2)
    interrupted = 0
    for _ in range(given["times"]):
        try:
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.00005, 0.001))
            for _ in range(1000):
                with client.lock("x"):
                    pass
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect()
    report(interrupted=interrupted)
    time.sleep(given["stay"])  # alive, but asking nothing: what is held or locked stays so


if __name__ == "__main__":
    main()
