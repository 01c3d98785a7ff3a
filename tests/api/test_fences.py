"""A worker that sleeps between its last look at its lease and its write: the fence refuses it.

The look cannot see such a pause, so it is played here: the lease is over for everybody else, and
its holder still believes.
"""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Client, Lease, LockLost, Outcome, clock
from holdfast.values import NameSpace


@pytest.fixture
def url() -> str:
    """Give a space of its own."""
    return f"memory://{uuid4()}"


@pytest.fixture
def alice(url: str) -> Iterator[Client]:
    """Give the one who sleeps."""
    with Client(url) as client:
        yield client


@pytest.fixture
def bob(url: str) -> Iterator[Client]:
    """Give the one who takes over."""
    with Client(url) as client:
        yield client


def lull(lease: Lease | None, other: Client, space: NameSpace) -> None:
    """End the lease for all but its holder, who goes on believing in it."""
    assert lease is not None
    told = threading.Event()
    lease.on_lost(told.set)
    other.break_lock(lease.name, token=lease.token, force=True, space=space)
    assert told.wait(10)  # from now on nobody touches the lease any more
    lease._state.loss, lease._state.deadline = "", clock.now() + 60
    lease.check()


def test_it_cannot_store_while_its_successor_is_at_work(alice: Client, bob: Client) -> None:
    """There is no result yet, and still it is refused: its successor has begun."""
    with alice.once("k") as late:
        lull(late.lease, bob, "once")
        with bob.once("k") as next_one:
            with pytest.raises(LockLost, match="begun anew under a later lease"):
                late.store("late")
            next_one.store("right")
        late.give_up()
    assert alice.once("k").run(lambda: "again") == "right"


def test_it_cannot_replace_what_its_successor_stored(alice: Client, bob: Client) -> None:
    """The result is that of the successor, whatever comes later."""
    with alice.once("k") as late:
        lull(late.lease, bob, "once")
        assert bob.once("k").run(lambda: "right") == "right"
        with pytest.raises(LockLost):
            late.store("late")
        late.give_up()
    assert alice.once("k").run(lambda: "again") == "right"


def test_it_cannot_store_after_its_result_was_forgotten(alice: Client, bob: Client) -> None:
    """Forgetting a result does not forget who was the last to begin."""
    with alice.once("k") as late:
        lull(late.lease, bob, "once")
        bob.once("k").run(lambda: "right")
        assert bob.once("k").forget()
        with pytest.raises(LockLost):
            late.store("late")
        late.give_up()
    assert alice.once("k").run(lambda: "again") == "again"


def test_it_cannot_close_the_slot_of_its_successor(alice: Client, bob: Client) -> None:
    """Neither while the successor runs, nor after it has failed: the slot stays open."""
    late = alice.singleton("job", per="365d").turn()
    assert late is not None
    with late:
        lull(late.lease, bob, "singleton")
        next_one = bob.singleton("job", per="365d").turn()
        assert next_one is not None
        with next_one, pytest.raises(LockLost, match="begun anew under a later lease"):
            late.complete()
        with pytest.raises(LockLost):
            late.complete()
    assert bob.singleton("job", per="365d").run(lambda: 1) == Outcome(executed=True, result=1)
    assert not alice.singleton("job", per="365d").run(lambda: 2).executed


def test_a_cell_that_was_deleted_under_a_lease_remembers_its_fence_for_an_hour() -> None:
    """As long as once and singleton do: whoever slept through its own lease is refused."""
    with Client(f"memory://{uuid4()}") as client, client.lock("x") as lease:
        cell = client.cell("x")
        cell.swap(1, 0, under=lease)
        wire = client._engine.session.wire
        ask = wire.ask
        kept: list[int | None] = []

        async def asked(request: Any, deadline: float) -> Any:
            kept.append(getattr(request, "keep", None))
            return await ask(request, deadline)

        wire.ask = asked  # type: ignore[method-assign]
        cell.delete(under=lease)
    assert 3600 * 1_000_000 in kept
