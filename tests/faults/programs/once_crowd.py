"""Ask for one once key from several threads at the same time; say what each of them got."""

import os
import threading
import time
from pathlib import Path

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def work() -> dict[str, int]:
    """Do the one thing that must not be done twice, and take some time over it."""
    with Path(given["runs"]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")  # one short line: appended as a whole
    time.sleep(given["takes"])
    return {"pid": os.getpid(), "at": time.time_ns()}


def ask(client: Client) -> None:
    """Ask for the result."""
    once = client.once(given["key"], ttl=given["ttl"], wait=60)
    report(result=once.run(work))


if __name__ == "__main__":
    with Client(given["url"]) as shared:
        callers = [threading.Thread(target=ask, args=(shared,)) for _ in range(given["callers"])]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
