"""What is asked of a client for a name: a lock, a share of something, the lead."""

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
    return wanted(client, turn.name, shares=turn.shares, **terms)


def wanted(client: Client | AsyncClient, name: str, *, shares: bool, **terms: Any) -> Any:
    """Describe a name as what it is used as."""
    match kind_of(name):
        case "semaphore":
            return client.semaphore(name, permits=PERMITS, **terms)
        case "rwlock":
            both = client.rwlock(name)
            return both.read(**terms) if shares else both.write(**terms)
        case "lead":
            return client.lead(name, **terms)
        case "lock":
            return client.lock(name, **terms)
