"""Waiting for what gives no signal: with patience, and not misled by a standstill."""

import asyncio
from itertools import count

import pytest

from holdfast.testing import watching
from holdfast.testing.watching import LOOK_EVERY, eventually, eventually_async


class Clock:
    """A clock that only sleeping moves, and that once jumps over a minute."""

    def __init__(self, standstill_at: int) -> None:
        self._now = 0.0
        self._sleeps = count()
        self._standstill_at = standstill_at

    def monotonic(self) -> float:
        """Read it."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Pass the time; with a standstill much more of it."""
        self._now += 60.0 if next(self._sleeps) == self._standstill_at else seconds


def test_a_standstill_does_not_use_up_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for stood still as well: it is looked for as long as it was to be."""
    monkeypatch.setattr(watching, "time", Clock(standstill_at=1))
    looks = count()
    assert eventually(lambda: next(looks) == 90, 1.0)


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so long, standstill or not, the last answer is told."""
    monkeypatch.setattr(watching, "time", Clock(standstill_at=1))
    looks = count()
    with pytest.raises(AssertionError, match=r"not seen within 1 s: a miracle \(last answer: \[\]"):
        eventually(lambda: next(looks) < 0 or [], 1.0, "a miracle")
    assert next(looks) <= 1.0 / LOOK_EVERY


def test_patience_ends_on_a_loop_too() -> None:
    """The probe may be a coroutine; whatever else runs on the loop goes on meanwhile."""

    async def never() -> str:
        return ""

    async def body() -> None:
        other = asyncio.create_task(asyncio.sleep(0.01, "went on"))
        with pytest.raises(AssertionError, match=r"not seen within 0.1 s: the condition"):
            await eventually_async(never, 0.1)
        assert other.done()

    asyncio.run(body())
