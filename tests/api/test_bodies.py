"""What is run under a lock is refused if it would run when the lock is gone."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client
from holdfast.errors import Misuse


async def later() -> int:
    """Would run when somebody awaits it."""
    return 1


def gives_it() -> Awaitable[int]:
    """Is no async def, and gives what one gives."""
    return later()


def numbers() -> Iterator[int]:
    """Would run as far as somebody asks for numbers."""
    yield 1


async def later_numbers() -> AsyncIterator[int]:
    """Would run as far as somebody asks for numbers, later."""
    yield 1


class Later:
    """An object that is called like a coroutine function."""

    async def __call__(self) -> int:
        """Would run when somebody awaits it."""
        return 1


FOR_TASKS = {
    "an async def": later,
    "a part of one": functools.partial(later),
    "an object": Later(),
    "what gives a coroutine": gives_it,
    "a generator": numbers,
    "an async generator": later_numbers,
}

SYNC_CALLS: dict[str, Callable[[Client, Any], Any]] = {
    "with_lock": lambda client, fn: client.with_lock("x", fn),
    "try_with_lock": lambda client, fn: client.try_with_lock("x", fn),
    "singleton": lambda client, fn: client.singleton("x", per="1h").run(fn),
    "once": lambda client, fn: client.once("x").run(fn),
}

ASYNC_CALLS: dict[str, Callable[[AsyncClient, Any], Any]] = {
    "with_lock": lambda client, fn: client.with_lock("x", fn),
    "try_with_lock": lambda client, fn: client.try_with_lock("x", fn),
    "singleton": lambda client, fn: client.singleton("x", per="1h").run(fn),
    "once": lambda client, fn: client.once("x").run(fn),
}


@pytest.mark.parametrize("body", FOR_TASKS)
@pytest.mark.parametrize("call", SYNC_CALLS)
def test_threads_refuse_what_has_not_run(call: str, body: str) -> None:
    """It is said, the name is free, and the next one to come does the work."""
    with Client(f"memory://{uuid4()}") as client:
        with pytest.raises(Misuse, match=r"a coroutine, which has not run|is a generator"):
            SYNC_CALLS[call](client, FOR_TASKS[body])
        assert SYNC_CALLS[call](client, lambda: 7) in (7, (True, 7))


@pytest.mark.parametrize("body", [lambda: 7, numbers, later_numbers])
@pytest.mark.parametrize("call", ASYNC_CALLS)
def test_tasks_refuse_what_cannot_be_awaited(call: str, body: Callable[[], object]) -> None:
    """It is said, and not by a ``TypeError`` from the depths."""

    async def main() -> None:
        async with AsyncClient(f"memory://{uuid4()}") as client:
            with pytest.raises(Misuse, match=r"nothing to await|is a generator"):
                await ASYNC_CALLS[call](client, body)
            assert await ASYNC_CALLS[call](client, gives_it) in (1, (True, 1))

    asyncio.run(main())


def test_a_plain_function_may_give_a_generator() -> None:
    """Its body has run; what it hands out is its own affair."""
    with Client(f"memory://{uuid4()}") as client:
        assert list(client.with_lock("x", lambda: (number for number in (1, 2)))) == [1, 2]


def test_an_object_with_an_async_call_is_told_apart() -> None:
    """A decorator sees what kind of function an object is called as."""
    client = Client(f"memory://{uuid4()}")
    with pytest.raises(Misuse, match="is an async def; use an AsyncClient"):
        client.lock("x")(Later())
    tasks = AsyncClient(f"memory://{uuid4()}")
    assert asyncio.run(tasks.lock("x")(Later())()) == 1


def test_a_cell_refuses_a_part_of_an_async_def() -> None:
    """Also if it has no name of its own."""
    with Client(f"memory://{uuid4()}") as client, pytest.raises(Misuse, match="is an async def"):
        client.cell("x").update(functools.partial(later))  # type: ignore[arg-type]  # that it is wrong is the point
