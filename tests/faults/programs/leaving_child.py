"""Fork and leave: the child goes on holding a lock after its parent has ended."""

import os
import sys
import time

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def main() -> None:
    """Use the client, fork, and end; the child holds for a while and says what it believes."""
    client = Client(given["url"])
    with client.lock("warm"):
        pass
    parent = os.getpid()
    if os.fork():
        sys.exit(0)  # closes the client, as at every exit
    with client.lock("x", ttl=given["ttl"], on_loss="flag") as lease:
        while os.getppid() == parent:
            time.sleep(0.01)
        report(held=True, token=lease.token)
        sys.stdin.readline()
        report(held=lease.held)


if __name__ == "__main__":
    main()
