"""When a holder must stop believing, when it should renew, when it may start.

All points in time here are on the *holder's* clock. The one safety argument: a reply that names
``remaining`` was made after its question was sent, so the grant lives at least until the send time
plus ``remaining`` on the server. Counting from the send time, minus a margin for clocks whose
rates differ, the holder always stops before the server lets anyone else in.
"""

from __future__ import annotations

RATE_ERROR = 0.01
"""Clock rates are assumed to agree within one percent (DESIGN: promise 1)."""

SLACK = 0.005
"""For what happens between looking at the clock and acting on it."""

PATIENCE = 3.0
"""How long a waiter lives without a word from its client."""

AWAITED_AFTER = 0.005
"""Who held for so long may well have somebody waiting behind it, and so has who waited itself: a
hint, by which nothing is decided but who is told first."""

TICK = 1.0
"""How often a client with waiters speaks to its backend."""


def deadline(asked_at: float, remaining: float) -> float:
    """When the holder must stop, given what the reply to a question sent at ``asked_at`` named."""
    return asked_at + remaining - (remaining * RATE_ERROR + SLACK)


def next_renewal(now: float, life: float) -> float:
    """When to renew a lease that lives so long from now: two more tries fit before its end."""
    return now + life / 3


def first_renewal(now: float, until: float, ttl: float) -> float:
    """When to renew a new lease: of its ttl, or of what a slow answer has left of that."""
    left = until - now
    return next_renewal(now, ttl if left > ttl * 0.9 else left)


def may_start_unconfirmed(now: float, until: float, life: float) -> bool:
    """Whether a lease known only from a notice leaves enough time to start the body at once."""
    return until - now >= min(1.0, life / 2)


def confirm_now(now: float, until: float) -> bool:
    """Whether a handed-over lease is too short to wait for the keeper's next batch."""
    return until - now < TICK + 0.5


def attempt_limit(now: float, until: float, call_limit: float) -> float:
    """How long one try at a renewal may take.

    A third of what is left, so that a silent server leaves time for others; never past the
    deadline, and never so short that it cannot succeed.
    """
    left = until - now
    return min(call_limit, max(left / 3, min(left, 0.05)))
