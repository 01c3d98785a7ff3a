"""Take permits as fast as a shared limiter gives them; say when each of them was due.

The moment that counts is the backend's. Seen from here it lies between two others: the due time
that holdfast slept until (counted from the reply) and the same counted from the question.
"""

from typing import Any

from holdfast import Client, clock
from holdfast.flows import limit
from tests.faults.processes import plan, report

given = plan()
due: list[tuple[float, float]] = []
asked_at = 0.0
sleep_until = limit._sleep_until


async def noted(session: Any, ready_at: float) -> None:
    """Note when the permits were due, then sleep as ever."""
    due.append((ready_at - (clock.now() - asked_at), ready_at))
    await sleep_until(session, ready_at)


if __name__ == "__main__":
    limit._sleep_until = noted
    with Client(given["url"]) as client:
        limiter = client.limiter(given["name"], given["rate"], given["burst"])
        report(ready=True)
        input()
        until = clock.now() + given["seconds"]
        got: list[float] = []
        while True:
            waited, asked_at = len(due), clock.now()
            if asked_at >= until:
                break
            limiter.acquire()
            if len(due) == waited:  # at once: somewhere between the question and now
                due.append((asked_at, clock.now()))
            got.append(clock.now())
    report(due=due, got=got)
