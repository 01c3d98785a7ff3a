"""What a turn asks its client for: a lock, a share of something, the lead."""

from __future__ import annotations

from typing import Any

from holdfast.api.client import AsyncClient, Client
from holdfast.testing.workload.kinds import PERMITS, kind_of
from holdfast.testing.workload.turn import Turn


def door(client: Client | AsyncClient, turn: Turn) -> Any:
    """Describe what the turn asks for: a ``with`` of it, or ``async with``, gives a lease."""
    terms: dict[str, Any] = {
        "ttl": turn.ttl,
        "wait": turn.wait,
        "renew": turn.renew,
        "max_hold": turn.max_hold,
    }
    match kind_of(turn.name):
        case "semaphore":
            return client.semaphore(turn.name, permits=PERMITS, **terms)
        case "rwlock":
            both = client.rwlock(turn.name)
            return both.read(**terms) if turn.shares else both.write(**terms)
        case "lead":
            return client.lead(turn.name, **terms)
        case "lock":
            return client.lock(turn.name, **terms)
