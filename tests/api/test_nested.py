"""A reentrant lock whose entries are not given back in the order in which they were made."""

import asyncio
from uuid import uuid4

from holdfast import AsyncClient, Client


def test_released_early_inside() -> None:
    """Who gives its own entry back before leaving it leaves the outer body its lock."""
    url = f"memory://{uuid4()}"
    with Client(url) as client, Client(url) as other:
        lock = client.lock("x", reentrant=True)
        with lock as outer:
            with lock as inner, lock:
                inner.release()
            outer.check()
            assert other.lock("x").try_acquire() is None
            with lock:
                pass
            outer.check()
        with other.lock("x", wait=0):
            pass


def test_released_early_inside_a_task() -> None:
    """The same for tasks."""

    async def main() -> None:
        url = f"memory://{uuid4()}"
        async with AsyncClient(url) as client, AsyncClient(url) as other:
            lock = client.lock("x", reentrant=True)
            async with lock as outer:
                async with lock as inner, lock:
                    await inner.release()
                outer.check()
                assert await other.lock("x").try_acquire() is None
            async with other.lock("x", wait=0):
                pass

    asyncio.run(main())


def test_taken_by_hand_and_released_inside() -> None:
    """What was acquired by hand is what a release by hand gives back; the ``with`` its own."""
    url = f"memory://{uuid4()}"
    with Client(url) as client, Client(url) as other:
        lock = client.lock("x", reentrant=True)
        lease = lock.acquire()
        with lock:
            lease.release()
            lease.check()
        with other.lock("x", wait=0):
            assert not lease.held


def test_two_doors_left_in_another_order() -> None:
    """Each gives back one entry, and the last one the lock."""
    url = f"memory://{uuid4()}"
    with Client(url) as client, Client(url) as other:
        one, two = client.lock("x"), client.lock("x", reentrant=True)
        lease = one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        lease.check()
        two.__exit__(None, None, None)
        with other.lock("x", wait=0):
            assert not lease.held


def test_a_lock_that_was_left_keeps_no_task() -> None:
    """Alone, nested, and by several tasks that are inside of other names at the same time."""

    async def main() -> None:
        async with AsyncClient(f"memory://{uuid4()}") as client:
            lock = client.lock("x", reentrant=True)
            async with lock, lock:
                assert len(lock._entered) == 1
            assert lock._entered == {}
            permits = client.semaphore("s", permits=3)

            async def enter() -> None:
                async with permits:
                    await asyncio.sleep(0)

            await asyncio.gather(*(enter() for _ in range(3)))
            assert permits._entered == {}

    asyncio.run(main())
