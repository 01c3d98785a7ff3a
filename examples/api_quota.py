"""A partner's API that allows 50 calls a second to all of us: ``python -m examples.api_quota``.

Four workers share the quota through one limiter. Background work waits for its turn; a request
that somebody is waiting for asks, and is told when to come again.
"""

import asyncio
import sys
import time

import holdfast

RATE, CALLS, WORKERS = 50, 10, 4


async def call_the_partner(worker: int, number: int) -> str:
    """Stand for the partner's API."""
    await asyncio.sleep(0.001)
    return f"{worker}/{number}"


async def work(url: str, worker: int) -> list[float]:
    """Be a background worker; every worker is a client of its own, as on hosts of their own."""
    done: list[float] = []
    async with holdfast.AsyncClient(url, holder=f"worker-{worker}") as client:
        quota = client.limiter("partner-api", f"{RATE}/s", burst=1)
        for number in range(CALLS):
            async with quota:
                await call_the_partner(worker, number)
                done.append(time.monotonic())
    return done


async def main(url: str) -> None:
    """Let all workers go as fast as they may, and one impatient request in between."""
    started_at = time.monotonic()
    async with holdfast.AsyncClient(url) as client, asyncio.TaskGroup() as group:
        workers = [group.create_task(work(url, number)) for number in range(WORKERS)]
        await asyncio.sleep(0.2)
        permit = await client.limiter("partner-api", f"{RATE}/s", burst=1).try_acquire()
        answer = "200" if permit else f"429, Retry-After: {permit.retry_after:.2f} s"
        print(f"an impatient request: {answer.partition(',')[0]}")
    done = sorted(moment for one in workers for moment in one.result())
    took = done[-1] - started_at
    allowed = 1 + RATE * took
    print(f"{len(done)} calls, never above {RATE}/s: {len(done) <= allowed}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory://quota"))
