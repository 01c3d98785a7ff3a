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
