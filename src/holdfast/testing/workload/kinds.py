"""What a name of a plan is used as: ``semaphore:x``, ``rwlock:x`` and ``lead:x`` say so themselves.

A name without one of these words is a lock. So the plan stays a list of names, and every worker
comes to the same answer.
"""

from __future__ import annotations

from holdfast.values import Kind

PERMITS = 3
SHARES = 1000
"""The capacity of a readers/writer name in a history: more readers than there ever are."""


def kind_of(name: str) -> Kind:
    """Say what a name is used as."""
    match name.partition(":")[0]:
        case "semaphore":
            return "semaphore"
        case "rwlock":
            return "rwlock"
        case "lead":
            return "lead"
        case _:
            return "lock"


def room(name: str, *, shares: bool) -> tuple[int, int]:
    """Give the weight and the capacity of a claim on ``name``, as a history has them."""
    match kind_of(name):
        case "semaphore":
            return 1, PERMITS
        case "rwlock":
            return (1 if shares else SHARES), SHARES
        case "lock" | "lead":
            return 1, 1
