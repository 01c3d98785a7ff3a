"""Be in the middle of a singleton's run until somebody kills this process."""

import time

from holdfast import Client
from tests.faults.processes import plan, report


def stay() -> None:
    """Say that the run has begun, and never end it."""
    report(at_work=True)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    given = plan()
    with Client(given["url"]) as client:
        client.singleton(given["name"], "365d", ttl=given["ttl"]).run(stay)
