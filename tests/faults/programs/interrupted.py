"""Be interrupted at random moments, as by a Ctrl-C, while taking and giving back a lock."""

import gc
import logging  # noqa: F401 - so that no interruption hits its import, which is another story
import random
import signal
import threading
import time
import warnings
from contextlib import suppress
from types import FrameType

from holdfast import Client, Misuse
from tests.faults.processes import plan, report

given = plan()


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Do what Python does on Ctrl-C."""
    raise KeyboardInterrupt


def take_often(client: Client, dice: random.Random) -> None:
    """Take and give back; somewhere in between the alarm rings."""
    signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.00005, 0.001))
    for _ in range(500):  # not for ever: an alarm that rings in a finaliser is swallowed
        with client.lock("x"):
            pass


def main() -> None:
    """Be interrupted many times, then stay, alive but asking nothing."""
    warnings.simplefilter("ignore", ResourceWarning)  # a lease dropped on the way out says so
    signal.signal(signal.SIGALRM, interrupt)
    dice = random.Random(given["seed"])
    client = Client(given["url"], ttl=60, call_limit=2)
    interrupted, trouble = 0, ""
    while interrupted < given["times"] and not trouble:
        try:
            take_often(client, dice)
        except KeyboardInterrupt:  # the one alarm has rung, so there is none left to ring here
            interrupted += 1
        except Misuse as error:
            trouble = str(error)
    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    gc.collect()
    keepers = [one.name for one in threading.enumerate() if "keeper" in one.name]
    report(interrupted=interrupted, trouble=trouble, keepers=len(keepers))
    time.sleep(given["stay"])


if __name__ == "__main__":
    main()
