"""Lead, or stand by, until a signal asks to resign; say what was tidied up on the way out."""

import asyncio
import sys
import time

from holdfast import AsyncClient, Client
from tests.faults.processes import plan, report

given = plan()


def lead() -> None:
    """Lead in the main thread."""
    with Client(given["url"]) as client:
        report(standing_by=True)
        with client.lead("job", ttl=60, resign_on=("SIGTERM",)) as lease:
            try:
                report(leads=True, token=lease.token)
                time.sleep(60)
            finally:
                report(tidied=True, held=lease.held)


async def lead_async() -> None:
    """Lead in a task."""
    async with AsyncClient(given["url"]) as client:
        report(standing_by=True)
        async with client.lead("job", ttl=60, resign_on=("SIGTERM",)) as lease:
            try:
                report(leads=True, token=lease.token)
                await asyncio.sleep(60)
            finally:
                report(tidied=True, held=lease.held)


def lead_twice() -> None:
    """Lead, leave, and lead again as a decorated function: the handlers come and go."""
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with Client(given["url"]) as client:
        with client.lead("job", resign_on=("SIGTERM",)):
            report(changed=signal.getsignal(signal.SIGTERM) != before)
        report(restored=signal.getsignal(signal.SIGTERM) == before)

        @client.lead("job", resign_on=("SIGTERM",))
        def work() -> None:
            report(leads=True)
            time.sleep(60)

        work()


if __name__ == "__main__":
    match given["how"]:
        case "sync":
            lead()
        case "async":
            asyncio.run(lead_async())
        case _:
            lead_twice()
    sys.exit(1)
