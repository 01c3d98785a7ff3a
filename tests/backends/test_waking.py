"""Ears are woken through a pipe, by anybody, also while they are being closed."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from holdfast.backends.waking import PipedEar


class Ear(PipedEar):
    """One that can say whether it was rung."""

    def rung(self) -> bytes:
        """Give what was written into its pipe."""
        try:
            return os.read(self._bell, 64)
        except BlockingIOError:
            return b""


@pytest.fixture
def opened() -> Iterator[list[int]]:
    """Close what a test has opened."""
    descriptors: list[int] = []
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def _is_open(descriptor: int) -> bool:
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


def test_who_wakes_is_heard() -> None:
    """As often as it likes, and in vain once the ear is closed."""
    ear = Ear()
    ear.wake()
    assert ear.rung() == b"\0"
    ear.close()
    ear.wake()
    ear.close()


def test_nothing_is_written_into_what_was_opened_since(
    monkeypatch: pytest.MonkeyPatch, opened: list[int]
) -> None:
    """Who has begun to ring when another thread closes the ear rings that very pipe, or nothing."""
    ear = Ear()
    write = os.write

    def closed_meanwhile(descriptor: int, word: bytes) -> int:
        closing = threading.Thread(target=ear.close)
        closing.start()
        closing.join()
        opened.extend((*os.pipe(), *os.pipe()))  # they get the numbers that are free
        return write(descriptor, word)

    monkeypatch.setattr("os.write", closed_meanwhile)
    ear.wake()
    for end in opened[::2]:
        os.set_blocking(end, False)
        with pytest.raises(BlockingIOError):
            os.read(end, 1)


@pytest.mark.parametrize("how", ["close", "forget"])
def test_a_closed_ear_leaves_nothing_open(how: str) -> None:
    """Neither end of its pipe, as soon as nobody rings it any more."""
    ear = Ear()
    ends = ear._bell, ear._clapper._descriptor
    assert all(map(_is_open, ends))
    getattr(ear, how)()
    assert not any(map(_is_open, ends))
