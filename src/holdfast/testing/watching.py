"""The one way in which tests wait for what gives no signal: look often, and give up loudly.

A test never sleeps for a fixed time in the hope that something has happened meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_EVERY = 0.005

AWAKE = 0.5
"""What lies between two looks counts for at most so many seconds. When a busy machine stands still
for longer, what is waited for stood still as well, and gets the time that it was to have."""


class _Patience:
    """Counts the time in which we looked."""

    def __init__(self, within: float) -> None:
        self._left = within
        self._looked_at = time.monotonic()

    def is_over(self) -> bool:
        """Count the time since the last look."""
        before, self._looked_at = self._looked_at, time.monotonic()
        self._left -= min(self._looked_at - before, AWAKE)
        return self._left < 0


def eventually(probe: Callable[[], T], within: float = 10.0, what: str = "") -> T:
    """Give the first true answer of ``probe``; fail with its last one after ``within`` seconds."""
    patience = _Patience(within)
    while not (answer := probe()):
        if patience.is_over():
            raise AssertionError(_unseen(within, what, answer))
        time.sleep(LOOK_EVERY)
    return answer


async def eventually_async(
    probe: Callable[[], object], within: float = 10.0, what: str = ""
) -> object:
    """Do what ``eventually`` does without blocking the loop; the probe may be a coroutine."""
    patience = _Patience(within)
    while True:
        found = probe()
        answer = await found if isinstance(found, Awaitable) else found
        if answer:
            return answer
        if patience.is_over():
            raise AssertionError(_unseen(within, what, answer))
        await asyncio.sleep(LOOK_EVERY)


def _unseen(within: float, what: str, answer: object) -> str:
    return f"not seen within {within:g} s: {what or 'the condition'} (last answer: {answer!r})"
