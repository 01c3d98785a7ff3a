"""A client that is closed, or hears of a break, while the answer to its claim is on the way."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, Misuse
from holdfast.testing.watching import eventually


def before_reply(client: Client | AsyncClient, kind: str, then: Callable[[], Any]) -> None:
    """Let something happen after the backend has answered such a request, before that is heard."""
    wire = client._engine.session.wire
    ask = wire.ask

    async def asked(request: Any, deadline: float) -> Any:
        reply = await ask(request, deadline)
        if type(request).__name__ == kind:
            happened = then()
            if isinstance(happened, Awaitable):
                await happened
        return reply

    wire.ask = asked  # type: ignore[method-assign]


def test_nothing_begins_in_a_client_that_was_closed_meanwhile() -> None:
    """The call is refused, and somebody else has the name: in a thread."""
    url = f"memory://{uuid4()}"
    client, other = Client(url), Client(url)
    kept = client.lock("something").acquire()  # so that there is a keeper
    before_reply(client, "Claim", client.close)
    with pytest.raises(Misuse, match="closed"), client.lock("x"):
        pytest.fail("the body began")
    with other.lock("x", wait=0):
        assert not kept.held
    other.close()


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_nothing_begins_in_a_client_without_a_keeper_either(backend: str, tmp_path: Path) -> None:
    """One is started to withdraw the claim: the call's own way to the backend is closed by then."""
    url = f"memory://{uuid4()}" if backend == "memory" else f"sqlite:///{tmp_path}/locks.db"
    client, other = Client(url), Client(url)
    before_reply(client, "Claim", client.close)
    with pytest.raises(Misuse, match="closed"), client.lock("x"):
        pytest.fail("the body began")
    with other.lock("x", wait=0):
        pass
    other.close()
    name = f"holdfast-keeper-{client.holder.client[:8]}"
    assert name not in [thread.name for thread in threading.enumerate()]


def test_nothing_begins_in_a_client_that_was_closed_meanwhile_in_a_task() -> None:
    """The same for a task whose client another task closes."""

    async def main() -> None:
        url = f"memory://{uuid4()}"
        async with AsyncClient(url) as client, AsyncClient(url) as other:
            kept = await client.lock("something").acquire()
            before_reply(client, "Claim", client.close)
            with pytest.raises(Misuse, match="closed"):
                await client.lock("x").acquire()
            async with other.lock("x", wait=0):
                assert not kept.held

    asyncio.run(main())


def test_several_names_do_not_begin_in_a_client_that_was_closed_meanwhile() -> None:
    """All of them are free."""
    url = f"memory://{uuid4()}"
    client, other = Client(url), Client(url)
    kept = client.lock("something").acquire()
    before_reply(client, "ClaimAll", client.close)
    with pytest.raises(Misuse, match="closed"):
        client.lock_all(["x", "y"]).acquire()
    with other.lock_all(["x", "y"], wait=0):
        assert not kept.held
    other.close()


def test_several_names_of_which_one_was_broken_before_the_reply() -> None:
    """Nobody believes in them: the others are given back, and all are asked for again."""
    url = f"memory://{uuid4()}"
    client, boss = Client(url), Client(url)
    taken: list[Any] = []

    def break_it() -> None:
        if not taken:
            (held,) = boss.show("y").holders
            boss.break_lock("y", token=held.token, reason="in the way", force=True)
            taken.append(boss.lock("y").acquire(wait=0))

    before_reply(client, "ClaimAll", break_it)
    waiting = threading.Thread(target=lambda: taken.append(client.lock_all(["x", "y"]).acquire()))
    waiting.start()
    eventually(lambda: boss.show("y").waiters == 1, 10, "it to wait for what was taken away")
    boss.release_all()
    waiting.join()
    lease = taken[1]
    lease.check()
    lease.release()
    client.close()
    boss.close()


def test_nothing_begins_that_was_asked_for_after_the_client_was_closed() -> None:
    """The call had looked before: it finds out when it is answered, and takes its claim back."""
    url = f"memory://{uuid4()}"
    client, other = Client(url), Client(url)
    session = client._engine.session
    new_id = session.new_id

    def close_first() -> str:
        client.close()
        return new_id()

    session.new_id = close_first
    with pytest.raises(Misuse, match="closed"), client.lock("x"):
        pytest.fail("the body began")
    with other.lock("x", wait=0):
        pass
    other.close()
