"""Replies that never come: nothing is done twice, and what cannot be known is not guessed."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from holdfast import BackendUnavailable, Client, Conflict
from holdfast.ports import Wire
from holdfast.rules.bucket_messages import Take
from holdfast.rules.messages import Reply, Request
from holdfast.rules.record_messages import Swap


class LossyWire:
    """A wire on which the replies to some requests are lost, after they were carried out."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.lose: Callable[[Request], bool] = lambda _request: False
        self.then: Callable[[], object] = lambda: None
        self.lost: list[Request] = []

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry it out; perhaps nobody hears of it."""
        reply = await self._wire.ask(request, deadline)
        if self.lose(request):
            self.lost.append(request)
            self.then()
            raise BackendUnavailable("the reply was lost", backend="memory", outcome="unknown")
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


@pytest.fixture
def url() -> str:
    """Give a space of its own."""
    return f"memory://{uuid4()}"


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    """Give a client on a lossy wire."""
    with Client(url, call_limit=1.5) as client:
        client._engine.session.wire = LossyWire(client._engine.session.wire)
        yield client


def wire_of(client: Client) -> LossyWire:
    """Give the wire."""
    wire = client._engine.session.wire
    assert isinstance(wire, LossyWire)
    return wire


def first_of(kind: type) -> Callable[[Request], bool]:
    """Lose the reply to the first request of this kind."""
    seen: list[Request] = []

    def lose(request: Request) -> bool:
        if isinstance(request, kind):
            seen.append(request)
        return isinstance(request, kind) and len(seen) == 1

    return lose


def test_a_swap_is_done_once(client: Client) -> None:
    """Asked again with the same id, it says that it was done."""
    wire_of(client).lose = first_of(Swap)
    assert client.cell("x").update(lambda value: (value or 0) + 1).value == 1
    assert client.cell("x").get().value == 1
    assert len(wire_of(client).lost) == 1


def test_a_swap_that_others_followed_is_still_known(client: Client, url: str) -> None:
    """Somebody has written since: it was done all the same, and is not done again."""
    with Client(url) as other:
        wire_of(client).lose = first_of(Swap)
        wire_of(client).then = lambda: other.cell("x").update(lambda value: value + 10)
        assert client.cell("x").update(lambda value: (value or 0) + 1).value == 1
        assert other.cell("x").get().value == 11


def test_what_nobody_remembers_is_unknown(client: Client, url: str) -> None:
    """After so many others that the swap is forgotten, unknown is said, not "conflict"."""
    with Client(url) as other:

        def bury() -> None:
            for _ in range(100):
                other.cell("x").update(lambda value: value + 1)

        wire_of(client).lose = first_of(Swap)
        wire_of(client).then = bury
        with pytest.raises(BackendUnavailable, match="cannot be told") as unknown:
            client.cell("x").swap(0, 0)
        assert unknown.value.outcome == "unknown"


def test_a_conflict_is_a_conflict_though_a_reply_was_lost(client: Client, url: str) -> None:
    """A swap that certainly was not done is told as such, at the second try too."""
    with Client(url) as other:
        other.cell("x").swap("theirs", 0)
        wire_of(client).lose = first_of(Swap)
        with pytest.raises(Conflict):
            client.cell("x").swap("mine", 0)
        assert other.cell("x").get().value == "theirs"


def test_a_permit_is_taken_once(client: Client) -> None:
    """The reply to a take is lost: asked again, it is the same take."""
    wire_of(client).lose = first_of(Take)
    assert client.limiter("x", "10/h").try_acquire().remaining == 9
    assert client.limiter("x", "10/h").try_acquire().remaining == 8


def test_a_result_is_stored_once(client: Client, url: str) -> None:
    """Neither the beginning nor the storing is done twice."""
    wire_of(client).lose = lambda request: isinstance(request, Swap) and request not in lost
    lost = wire_of(client).lost
    runs: list[int] = []

    def work() -> int:
        runs.append(1)
        return len(runs)

    assert client.once("k").run(work) == 1
    assert len(lost) == 2  # one for the beginning, one for the result
    with Client(url) as other:
        assert other.once("k").run(work) == 1


def test_an_outage_after_the_work_is_ridden_over(client: Client) -> None:
    """Storing is tried for as long as the lease is good, not for one ``call_limit`` only."""
    left = [8]

    def lose(request: Request) -> bool:
        if isinstance(request, Swap) and request.value is not None and left[0]:
            left[0] -= 1
            return True
        return False

    wire_of(client).lose = lose
    with client.once("k", ttl=10) as visit:
        client._engine.call_limit = client._engine.session.call_limit = 0.1
        visit.store("kept")
    assert client.once("k").run(lambda: "again") == "kept"
