"""A webhook that is delivered more than once: ``python -m examples.webhook``.

Payment providers deliver an event until they get an answer, sometimes twice at the same time. The
event's id is the key, the event itself the payload: a second delivery gets the first one's answer,
and an event that was tampered with under a known id is refused.
"""

import asyncio
import sys
from typing import Any

import holdfast

shipped: list[str] = []


async def ship(event: dict[str, Any]) -> dict[str, Any]:
    """Do what must be done once."""
    await asyncio.sleep(0.05)  # a call to the warehouse
    shipped.append(event["order"])
    return {"shipment": f"S-{event['order']}", "parcels": event["parcels"]}


async def deliver(client: holdfast.AsyncClient, event: dict[str, Any]) -> tuple[int, Any]:
    """Answer one delivery, as a web framework would: a status and a body."""
    once = client.once(f"webhook:{event['id']}", payload=event, wait="10s")
    try:
        return 200, await once.run(lambda: ship(event))
    except holdfast.Conflict:
        return 422, "this id was used for another event"
    except holdfast.LockBusy:
        return 409, "still at work; deliver it again later"


async def main(url: str) -> None:
    """Deliver an event five times at once, once more later, and once with another content."""
    event = {"id": "evt_1", "order": "42", "parcels": 2}
    async with holdfast.AsyncClient(url) as client:
        answers = await asyncio.gather(*(deliver(client, event) for _ in range(5)))
        answers.append(await deliver(client, dict(reversed(event.items()))))
        print(f"{len(answers)} deliveries, {len(shipped)} shipment")
        print("answers:", *sorted({str(answer) for answer in answers}))
        status, text = await deliver(client, {**event, "parcels": 200})
        print(f"tampered with: {status} {text}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory://webhook"))
