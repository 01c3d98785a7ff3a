"""How long to pause before asking again: growing, bounded, and spread by the dice.

The dice are thrown by the caller, a number in [0, 1), so that a simulation can replay them.
"""

from __future__ import annotations


def pause(attempt: int, dice: float, first: float = 0.02, longest: float = 1.0) -> float:
    """Give the pause after failed attempt number ``attempt`` (from 0): full jitter above a half."""
    span = min(longest, first * (1 << min(attempt, 16)))
    return span * (0.5 + dice / 2)
