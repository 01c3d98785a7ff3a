"""The virtual clock on an event loop: tasks do their part while time passes."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

import holdfast
from holdfast.testing import Sandbox, VirtualClock
from holdfast.testing.watching import eventually, eventually_async

pytestmark = pytest.mark.anyio


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Give a sandbox in virtual time."""
    with Sandbox(virtual_clock=True) as made:
        yield made


@pytest.fixture
def clock(sandbox: Sandbox) -> VirtualClock:
    """Give its clock."""
    return sandbox.clock


async def some_turns() -> None:
    """Take a while, as the clean-up of a real program does; it is waited for."""
    for _ in range(500):
        await asyncio.sleep(0)


async def test_ten_minutes_take_no_time(sandbox: Sandbox, clock: VirtualClock) -> None:
    """A renewed lease outlives them, one that is not renewed does not."""
    client = sandbox.async_client()
    kept = await client.lock("kept", ttl=9).acquire()
    ended = await client.lock("ended", ttl="10m", renew=False, on_loss="flag").acquire()
    await clock.advance_async("9m 53s")
    assert (kept.held, ended.held) == (True, True)
    await clock.advance_async("2s")
    assert (kept.held, ended.held) == (True, False)
    assert clock.elapsed == 595
    await kept.release()
    await ended.release()


async def test_a_body_is_cancelled_in_its_time(sandbox: Sandbox, clock: VirtualClock) -> None:
    """A task whose lease is over is stopped, and has told so when ``advance_async`` returns."""
    client = sandbox.async_client()
    ended: list[float] = []

    async def work() -> None:
        try:
            async with client.lock("x", ttl="10m"):
                await asyncio.Event().wait()
        except holdfast.LockLost:
            await some_turns()
            ended.append(clock.elapsed)

    task = asyncio.create_task(work())
    await clock.advance_async("1m")
    with sandbox.faults.unavailable():
        await clock.advance_async("5m")
        assert ended == []
        await clock.advance_async("10m")
        assert ended == [pytest.approx(600 * 0.99 - 0.005)]
    await task


async def test_a_lost_lease_stops_the_body(sandbox: Sandbox) -> None:
    """``lose`` cancels an async body at its next await."""
    client = sandbox.async_client()
    with pytest.raises(holdfast.LockLost, match="a whim"):  # noqa: PT012
        async with client.lock("x"):
            sandbox.faults.lose("x", "a whim")
            await asyncio.Event().wait()
    assert not (await client.show("x")).held


async def test_waits_end_on_the_second(sandbox: Sandbox, clock: VirtualClock) -> None:
    """Tasks that wait are woken when their time has come, not before."""
    client = sandbox.async_client()
    sandbox.faults.hold("x")
    tasks = [
        asyncio.create_task(client.lock("x", wait=60.0 * minutes).acquire())
        for minutes in range(1, 6)
    ]
    for minutes in range(1, 6):
        await clock.advance_async("59s")
        assert sum(task.done() for task in tasks) == minutes - 1
        await clock.advance_async("1s")
        assert sum(task.done() for task in tasks) == minutes
    for task in tasks:
        with pytest.raises(holdfast.LockBusy):
            await task


async def test_run_lets_pass_what_is_waited_for(sandbox: Sandbox, clock: VirtualClock) -> None:
    """``run`` awaits in the test's own task, and time passes whenever nobody can go on."""
    client = sandbox.async_client()
    sandbox.faults.hold("x", for_="2m")

    async def visit() -> holdfast.AsyncLease:
        assert asyncio.current_task() is me
        return await client.lock("x", wait="5m").acquire()

    me = asyncio.current_task()
    lease = await clock.run(visit())
    assert clock.elapsed == pytest.approx(120, abs=0.01)
    with pytest.raises(holdfast.LockBusy):
        await clock.run(sandbox.async_client().lock("x", wait="1m").acquire())
    assert clock.elapsed == pytest.approx(180, abs=0.01)
    await lease.release()


async def test_run_covers_slow_and_absent_backends(sandbox: Sandbox, clock: VirtualClock) -> None:
    """Delays and the pauses between tries pass as well; afterwards time stands still again."""
    client = sandbox.async_client()
    with sandbox.faults.delay("2s"):
        lease = await clock.run(client.lock("x", ttl="1m").acquire())
        assert clock.elapsed == 2
    with sandbox.faults.unavailable(), pytest.raises(holdfast.BackendUnavailable):
        await clock.run(client.show("x"))
    assert 2 < clock.elapsed <= 7
    before = clock.elapsed
    for _ in range(20):
        await asyncio.sleep(0)
    assert clock.elapsed == before
    await clock.run(lease.release())


async def test_run_gives_what_the_work_raises(clock: VirtualClock) -> None:
    """An error of the work is the error of ``run``; real waiting inside is waited for."""

    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await clock.run(fail())
    assert clock.elapsed == 0


async def test_run_tells_what_keeps_time_from_passing(
    sandbox: Sandbox, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the sandbox does not come to rest, ``run`` says so instead of waiting for ever."""
    monkeypatch.setattr("holdfast.testing.sandbox.rest.LIMIT", 0.2)
    go_on = threading.Event()
    lease = sandbox.client(holder="slow one").lock("x", renew=False, on_loss="flag").acquire()
    lease.on_lost(lambda: go_on.wait(10))
    try:
        with pytest.raises(RuntimeError, match="the keeper of slow one"):
            await clock.run(sandbox.async_client().lock("x", wait="5m").acquire())
    finally:
        go_on.set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    lease.release()


async def test_run_can_be_cancelled(sandbox: Sandbox, clock: VirtualClock) -> None:
    """A cancellation from outside is one: the wait is over and the clock stands still."""
    rival = sandbox.faults.hold("x")
    task = asyncio.create_task(clock.run(sandbox.async_client().lock("x", wait="7d").acquire()))
    await eventually_async(lambda: clock.elapsed > 0, what="time passes")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    before = clock.elapsed
    await clock.advance_async(0)
    assert clock.elapsed == before
    rival.release()


async def test_a_hand_over_between_tasks_takes_no_time(
    sandbox: Sandbox, clock: VirtualClock
) -> None:
    """Fifty tasks share one lock; nobody has to move the clock for that."""
    client = sandbox.async_client()
    inside = most = done = 0

    async def visit() -> None:
        nonlocal inside, most, done
        async with client.lock("x", wait="1s"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
            done += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(visit())
    assert (most, done, clock.elapsed) == (1, 50, 0)


async def test_the_plain_advance_is_refused_on_a_loop(clock: VirtualClock) -> None:
    """It would keep the loop from turning: the error names the one to use."""
    with pytest.raises(holdfast.Misuse, match="advance_async"):
        clock.advance("1s")
    with pytest.raises(holdfast.Misuse, match="advance must be between 0"):
        await clock.advance_async(-1)


async def test_a_task_that_spins_does_not_hold_time_up(
    sandbox: Sandbox, clock: VirtualClock
) -> None:
    """A loop with a task that is never at rest gets its turns, and time goes on."""
    client = sandbox.async_client()
    sandbox.faults.hold("x")
    waiting = asyncio.create_task(client.lock("x", wait="3s").acquire())

    async def spin() -> None:
        while not waiting.done():  # noqa: ASYNC110 - that it spins is the point
            await asyncio.sleep(0)

    spinning = asyncio.create_task(spin())
    await clock.advance_async("3s")
    await spinning
    assert isinstance(waiting.exception(), holdfast.LockBusy)


async def test_standing_still_is_said(
    sandbox: Sandbox,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task that waits for a clock nobody moves leaves a line in the log."""
    monkeypatch.setattr("holdfast.testing.sandbox.virtual_runtimes.STUCK", 0.01)
    sandbox.faults.hold("x")
    task = asyncio.create_task(sandbox.async_client().lock("x", wait="5m").acquire())
    await eventually_async(lambda: "stands still" in caplog.text, what="the line in the log")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_loop_in_another_thread_does_its_part(sandbox: Sandbox, clock: VirtualClock) -> None:
    """As in a web application under test: the test moves the clock, the other loop reacts."""
    client = sandbox.async_client()
    sandbox.faults.hold("x")
    waited: list[float] = []

    async def application() -> None:
        while len(waited) < 3:
            try:
                await client.lock("x", wait="1m").acquire()
            except holdfast.LockBusy as busy:
                await some_turns()
                waited.append(busy.waited_for)

    thread = threading.Thread(target=asyncio.run, args=[application()], daemon=True)
    thread.start()
    onlooker = sandbox.client()
    eventually(lambda: onlooker.show("x").waiters == 1)
    for minutes in (1, 2, 3):
        clock.advance("59s")
        assert len(waited) == minutes - 1
        clock.advance("1s")
        assert len(waited) == minutes
    thread.join(10)
    assert waited == [60, 60, 60]


def test_an_async_client_is_closed_without_its_loop(sandbox: Sandbox) -> None:
    """The loop of the test is gone: what the client holds is given back all the same."""
    client = sandbox.async_client()

    async def leave_it() -> holdfast.AsyncLease:
        return await client.lock("x").acquire()

    lease = asyncio.run(leave_it())
    sandbox.allow_leaks()
    onlooker = sandbox.client()
    assert onlooker.lock("x").locked()
    sandbox.close()
    assert not lease.held
