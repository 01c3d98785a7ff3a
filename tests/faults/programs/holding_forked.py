"""Hold a lock and fork; the child lives on, and says when it is there."""

import os
import time

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def main() -> None:
    """Be killed as the parent; the child is ended by the group."""
    client = Client(given["url"])
    lease = client.lock(given["name"], ttl=given["ttl"]).acquire()
    if os.fork() == 0:
        report(child="has it open no more" if not lease.held else "believes")
        time.sleep(60)
        os._exit(0)
    lease.check()
    time.sleep(60)


if __name__ == "__main__":
    main()
