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


def eventually(probe: Callable[[], T], within: float = 10.0, what: str = "") -> T:
    """Give the first true answer of ``probe``; fail with its last one after ``within`` seconds."""
    give_up_at = time.monotonic() + within
    while not (answer := probe()):
        if time.monotonic() > give_up_at:
            raise AssertionError(_unseen(within, what, answer))
        time.sleep(LOOK_EVERY)
    return answer


async def eventually_async(
    probe: Callable[[], object], within: float = 10.0, what: str = ""
) -> object:
    """Do what ``eventually`` does without blocking the loop; the probe may be a coroutine."""
    give_up_at = time.monotonic() + within
    while True:
        found = probe()
        answer = await found if isinstance(found, Awaitable) else found
        if answer:
            return answer
        if time.monotonic() > give_up_at:
            raise AssertionError(_unseen(within, what, answer))
        await asyncio.sleep(LOOK_EVERY)


def _unseen(within: float, what: str, answer: object) -> str:
    return f"not seen within {within:g} s: {what or 'the condition'} (last answer: {answer!r})"
