"""How long to pause before asking again: growing, bounded, and spread by the dice.

The dice are thrown by the caller, a number in [0, 1), so that a simulation can replay them.
"""

from __future__ import annotations


def pause(
    attempt: int, dice: float, first: float = 0.02, longest: float = 1.0, jitter: float = 0.5
) -> float:
    """Give the pause after failed attempt number ``attempt`` (from 0).

    ``jitter`` is the part of it that the dice decide: 0 is always the whole, 1 anything up to it.
    """
    span = min(longest, first * (1 << min(attempt, 16)))
    return span * (1 - jitter + dice * jitter)
