"""What a run was promised: the limits that the caller of the checker sets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Limits in seconds; ``None`` turns a rule of liveness off, safety has no switch.

    ``waiting_limit`` is how long one call may wait and ``idle_limit`` how long a name may be free
    although somebody waits for it, both counted only while no fault is on. ``recovery`` is how long
    after a fault things may still be unusual. ``in_order`` says whether the line is fair here, and
    ``tokens_in_line`` whether tokens are given out in the order of the line; if not, everybody
    draws one after he was let in, so that of several who hold together anybody may be first.
    ``telling_slack`` is how much later than a third of its life whoever holds something that the
    backend has forgotten may be told.
    """

    waiting_limit: float | None = None
    idle_limit: float | None = None
    recovery: float = 5.0
    in_order: bool = True
    tokens_in_line: bool = True
    telling_slack: float | None = None
