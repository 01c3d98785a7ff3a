"""The stepper: a flow that runs through gives its result; one that suspends is a loud bug."""

import asyncio
from collections.abc import Generator
from types import coroutine

import pytest

from holdfast.runtimes.step import run


@coroutine
def suspend() -> Generator[str, None, None]:
    """Do what awaiting an event loop does: yield something to whoever drives."""
    yield "something to wait for"


def test_the_result_is_given() -> None:
    """What the flow returns comes out, also ``None``."""

    async def inner() -> int:
        return 20

    async def flow() -> int:
        return await inner() + 1

    async def nothing() -> None: ...

    assert run(flow()) == 21
    assert run(nothing()) is None


def test_errors_come_out() -> None:
    """What the flow raises comes out as it is, a stray ``StopIteration`` too."""

    async def fails() -> None:
        raise ZeroDivisionError

    async def stops() -> None:
        raise StopIteration

    with pytest.raises(ZeroDivisionError):
        run(fails())
    with pytest.raises(RuntimeError, match="StopIteration"):
        run(stops())


def test_a_flow_that_suspends_is_a_loud_bug() -> None:
    """Suspending raises, names what was awaited, and lets the flow clean up."""
    cleaned_up = []

    async def flow() -> None:
        try:
            await suspend()
        finally:
            cleaned_up.append(True)

    with pytest.raises(RuntimeError, match=r"'something to wait for'.*a bug in holdfast"):
        run(flow())
    assert cleaned_up == [True]


def test_a_flow_that_needs_a_loop_is_a_loud_bug() -> None:
    """Even the shortest sleep of asyncio is refused."""

    async def flow() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="bug in holdfast"):
        run(flow())
