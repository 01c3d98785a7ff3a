"""Hold a permit or the lead until killed."""

import time

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def hold() -> None:
    """Hold, and say which slot it is."""
    client = Client(given["url"])
    if given["kind"] == "semaphore":
        lease = client.semaphore(given["name"], permits=3, ttl=given["ttl"]).acquire()
    else:
        lease = client.lead(given["name"], ttl=given["ttl"]).acquire()
    report(held=True, slot=lease.slot)
    time.sleep(60)


if __name__ == "__main__":
    hold()
