"""Hold a lock, fork, and let parent and child say what they hold."""

import os
import sys
import time

from holdfast import Client, LockLost
from tests.faults.processes import plan, report

given = plan()


def in_child(client: Client, *, held: bool) -> None:
    """Say what is held here, then work for oneself."""
    with client.lock("child", ttl=given["ttl"]) as mine:
        token = mine.token
        busy = client.lock("x").try_acquire() is None
        time.sleep(1.6 * given["ttl"])
        mine.check()
    client.close()
    report(who="child", held=held, token=token, busy=busy)


def main() -> None:
    """Fork in the middle of a body."""
    client = Client(given["url"])
    try:
        with client.lock("x", ttl=given["ttl"]) as lease:
            pid = os.fork()
            if pid == 0:
                try:
                    in_child(client, held=lease.held)
                finally:
                    sys.stdout.flush()
                    os._exit(0)
            time.sleep(1.2 * given["ttl"])
            lease.check()
            os.waitpid(pid, 0)
            lease.check()
    except LockLost as error:
        report(who="parent", lost=str(error))
        return
    report(who="parent", held_to_the_end=True, free=not client.show("x").held)
    client.close()


if __name__ == "__main__":
    main()
