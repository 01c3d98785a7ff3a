"""Clean-up that a cancellation must not cut short: ``AioRuntime.finish`` on a real loop."""

import asyncio

import pytest

from holdfast.runtimes.aio import AioRuntime


class CleanUp:
    """Work that takes until it is told to go on, and says how far it got."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.done = False

    async def run(self) -> str:
        """Wait, then be done."""
        self.begun.set()
        await self.may_go_on.wait()
        self.done = True
        return "cleaned up"

    async def fail(self) -> None:
        """Wait, then break."""
        await self.run()
        raise OSError("it broke")


async def turns_of_the_loop() -> None:
    """Let everything that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("blows", [1, 2, 3])
async def test_a_cancelled_caller_waits_for_its_clean_up(blows: int) -> None:
    """However often it is cancelled, the work is finished first, and then the cancellation told."""
    work = CleanUp()
    caller = asyncio.create_task(AioRuntime().finish(work.run()))
    await work.begun.wait()
    for _ in range(blows):
        caller.cancel()
        await turns_of_the_loop()
    assert not caller.done()
    work.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert work.done


async def test_a_failing_clean_up_does_not_hide_the_cancellation() -> None:
    """The caller was cancelled, and that is what it is told."""
    work = CleanUp()
    caller = asyncio.create_task(AioRuntime().finish(work.fail()))
    await work.begun.wait()
    caller.cancel()
    await turns_of_the_loop()
    work.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert work.done


async def test_undisturbed_it_gives_what_the_work_gives() -> None:
    """A result, or the error."""
    work = CleanUp()
    work.may_go_on.set()
    assert await AioRuntime().finish(work.run()) == "cleaned up"
    with pytest.raises(OSError, match="it broke"):
        await AioRuntime().finish(work.fail())


async def test_when_the_loop_is_torn_down_the_work_is_cancelled_too() -> None:
    """Whoever cancels every task of the loop ends the work; nothing hangs."""
    work = CleanUp()
    before = asyncio.all_tasks()
    caller = asyncio.create_task(AioRuntime().finish(work.run()))
    await work.begun.wait()
    for task in asyncio.all_tasks() - before:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not work.done
