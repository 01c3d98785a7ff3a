"""Hold a lock until told to go on, and say how it ended."""

import asyncio
import sys
import time

from holdfast import AsyncClient, Client, LockLost
from tests.faults.processes import plan, report

given = plan()


def hold() -> None:
    """Hold in a thread, looking at the lease all the time."""
    ttl = given["ttl"]
    with Client(given["url"]) as client:
        try:
            with client.lock(given["name"], ttl=ttl) as lease:
                report(held=True, token=lease.token)
                believed_at = time.monotonic()
                while True:
                    now = time.monotonic()
                    lease.check()
                    # Checked after a pause longer than the lease lives, and still believed.
                    if now - believed_at > ttl:
                        report(violation=f"believed after {now - believed_at:.2f} s")
                    believed_at = now
        except LockLost as error:
            report(lost=True, token=error.token, reason=error.reason)


async def hold_async() -> None:
    """Hold in a task, doing nothing."""
    cancelled = False
    async with AsyncClient(given["url"]) as client:
        try:
            async with client.lock(given["name"], ttl=given["ttl"]) as lease:
                report(held=True, token=lease.token)
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    cancelled = True
                    raise
        except LockLost as error:
            report(lost=True, token=error.token, reason=error.reason, cancelled=cancelled)


def hold_quietly() -> None:
    """Hold until a line comes in, then end without releasing."""
    client = Client(given["url"])
    lease = client.lock(given["name"], ttl=given["ttl"]).acquire()
    report(held=True, token=lease.token)
    sys.stdin.readline()
    globals()["kept"] = (client, lease)


async def hold_quietly_async() -> None:
    """Do the same in a task; the loop ends while the lease is held."""
    client = AsyncClient(given["url"])
    lease = await client.lock(given["name"], ttl=given["ttl"]).acquire()
    report(held=True, token=lease.token)
    await asyncio.to_thread(sys.stdin.readline)
    globals()["kept"] = (client, lease)


if __name__ == "__main__":
    match given["how"]:
        case "sync":
            hold()
        case "async":
            asyncio.run(hold_async())
        case "quietly":
            hold_quietly()
        case _:
            asyncio.run(hold_quietly_async())
