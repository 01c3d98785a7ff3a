"""Whoever's wait ends while the result is there gets it: somebody who asks just then would, too."""

import asyncio
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, LockBusy


def test_a_result_that_was_stored_before_its_worker_has_left() -> None:
    """The wait for the worker ends, and the result is there."""
    url = f"memory://{uuid4()}"
    with Client(url) as worker, Client(url) as other, worker.once("x") as visit:
        with pytest.raises(LockBusy):
            other.once("x", wait=0).run(lambda: 2)
        wire = other._engine.session.wire
        ask = wire.ask

        async def asked(request: object, deadline: float) -> object:
            reply = await ask(request, deadline)  # type: ignore[arg-type]
            if type(request).__name__ == "Claim" and not visit.done:
                visit.store(1)  # just after it was too late to find it without waiting
            return reply

        wire.ask = asked  # type: ignore[assignment,method-assign]
        assert other.once("x", wait=0).run(lambda: 2) == 1


def test_a_result_that_was_stored_before_its_worker_has_left_in_a_task() -> None:
    """The same for tasks."""

    async def main() -> None:
        url = f"memory://{uuid4()}"
        async with (
            AsyncClient(url) as worker,
            AsyncClient(url) as other,
            worker.once("x") as visit,
        ):
            wire = other._engine.session.wire
            ask = wire.ask

            async def asked(request: object, deadline: float) -> object:
                reply = await ask(request, deadline)  # type: ignore[arg-type]
                if type(request).__name__ == "Claim":
                    await visit.store(1)
                return reply

            wire.ask = asked  # type: ignore[assignment,method-assign]
            assert await other.once("x", wait=0).run(lambda: asyncio.sleep(0, 2)) == 1

    asyncio.run(main())


def test_a_slot_that_was_closed_before_its_worker_has_left() -> None:
    """Who waits for it skips, as the page says, and does not fail."""
    url = f"memory://{uuid4()}"
    with Client(url) as worker, Client(url) as other:
        mine = worker.singleton("x", per="1h").turn()
        assert mine is not None
        with mine:
            waiting = other.singleton("x", per="1h", on_busy="wait", wait=0)
            with pytest.raises(LockBusy):
                waiting.run(lambda: 1)
            wire = other._engine.session.wire
            ask = wire.ask

            async def asked(request: object, deadline: float) -> object:
                reply = await ask(request, deadline)  # type: ignore[arg-type]
                if type(request).__name__ == "Claim":
                    mine.complete()
                return reply

            wire.ask = asked  # type: ignore[assignment,method-assign]
            assert not waiting.run(lambda: 1).executed


def test_an_error_that_cannot_say_what_it_is() -> None:
    """It is stored by its kind, and its own caller gets it as it is."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def fail() -> int:
        raise Mute

    with Client(f"memory://{uuid4()}") as client:
        once = client.once("x", store_errors=True)
        with pytest.raises(Mute):
            once.run(fail)
        with pytest.raises(Exception, match=r"was tried before and failed: .*Mute"):
            once.run(lambda: 1)
