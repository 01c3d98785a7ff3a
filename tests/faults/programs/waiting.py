"""Wait for a lock until a Ctrl-C comes, then go on with the same client."""

import time

from holdfast import Client
from tests.faults.processes import plan, report

given = plan()


def main() -> None:
    """Wait in line; say when interrupted, and take another lock to show that all is well."""
    with Client(given["url"]) as client:
        began = time.monotonic()
        try:
            with client.lock("x"):
                report(got_in=True)
        except KeyboardInterrupt:
            seen = client.show("x")
            with client.lock("y", wait=0) as lease:
                report(
                    interrupted_after=time.monotonic() - began,
                    waiters=seen.waiters,
                    token=lease.token,
                )


if __name__ == "__main__":
    main()
