"""The first wait of a client opens its inbox: that is a question to ask, and no place lost."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client
from holdfast.observe import events
from holdfast.rules.messages import Notice
from holdfast.testing.watching import eventually, eventually_async
from tests.servers.cluster import RedisCluster
from tests.servers.shared import shared_server
from tests.servers.shared_postgres import shared_postgres


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Three masters: the inbox is opened on one after the other."""
    with RedisCluster() as running:
        yield running


@pytest.fixture(params=["redis", "cluster", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Give each server that a client listens to."""
    if request.param == "cluster":
        running: RedisCluster = request.getfixturevalue("cluster")
        return running.url(quarantine=0)
    server = shared_server() if request.param == "redis" else shared_postgres()
    return server.url(quarantine=0)


@pytest.fixture
def is_heard(request: pytest.FixtureRequest, url: str) -> Callable[[str], bool]:
    """Give what asks every master of a cluster whether this client listens to it."""
    if not url.startswith("redis+cluster:"):
        return lambda _client: True  # there is one server, and its inbox knows
    running: RedisCluster = request.getfixturevalue("cluster")
    return lambda client: all(
        node.ask("PUBSUB", "CHANNELS", f"*{client}*") for node in running.masters()
    )


class Stage:
    """Somebody holds a name, and a thread of a fresh client waits for it."""

    def __init__(self, url: str) -> None:
        prefix = f"first-{uuid4().hex[:8]}"
        self.told: list[events.Event] = []
        self.heard: list[str] = []
        self.theirs = Client(url, prefix=prefix)
        self.ours = Client(url, prefix=prefix, observers=[self.told.append])
        self.held = self.theirs.lock("x").acquire()
        book = self.ours._engine.book
        deliver: Callable[[Notice], None] = book.deliver

        def noted(notice: Notice) -> None:
            deliver(notice)
            self.heard.append(notice.what)

        book.deliver = noted  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()
        eventually(lambda: len(self.theirs.show("x").queue) == 1, what="a place in line")
        eventually(self.listens, what="an open inbox")
        eventually(lambda: self.heard, what="word of it")

    def _wait(self) -> None:
        with self.ours.lock("x", wait=30):
            pass

    def _ear(self) -> Any:
        return self.ours._engine.keeper._ear

    def listens(self) -> bool:
        """Whether a claim that is made now has an address on which somebody surely listens."""
        return not self._ear().address.endswith("?")

    def cut(self) -> None:
        """Cut every connection on which the client listens."""
        for descriptor in self._ear().descriptors():
            with socket.socket(fileno=os.dup(descriptor)) as mine:
                mine.shutdown(socket.SHUT_RDWR)

    def places_lost(self) -> list[str]:
        """Hand over; give the reasons for which the waiter was told that its place was lost."""
        self.held.release()
        self._thread.join(20)
        assert not self._thread.is_alive()
        return [event.reason for event in self.told if isinstance(event, events.PlaceLost)]

    def close(self) -> None:
        """Leave nothing behind."""
        self.ours.close()
        self.theirs.close()


def test_who_waits_first_has_lost_nothing(url: str) -> None:
    """Its inbox is opened while it stands in line already, and nobody passes it over until then."""
    with closing(Stage(url)) as stage:
        assert stage.places_lost() == []
        assert set(stage.heard) <= {"opened", "granted"}


def test_who_was_cut_off_may_have_lost_its_place(url: str) -> None:
    """An inbox that was open and was deaf for a while puts the place in doubt, as ever."""
    with closing(Stage(url)) as stage:
        stage.cut()
        eventually(lambda: "missed" in stage.heard, what="word of the gap")
        eventually(stage.listens, what="an open inbox")
        assert stage.places_lost() == ["the inbox was deaf for a while"]


@pytest.mark.anyio
@pytest.mark.parametrize("before", [False, True], ids=["fresh", "connected"])
async def test_a_task_that_waits_first_has_lost_nothing(
    url: str, is_heard: Callable[[str], bool], *, before: bool
) -> None:
    """On the loop too, whether or not it was connected before it had an inbox."""
    prefix = f"first-{uuid4().hex[:8]}"
    told: list[events.Event] = []
    async with (
        AsyncClient(url, prefix=prefix) as theirs,
        AsyncClient(url, prefix=prefix, observers=[told.append]) as ours,
    ):
        held = await theirs.lock("x").acquire()
        if before:
            await ours.show("y")
        waiting = asyncio.create_task(ours.lock("x", wait=30).acquire())

        async def listens() -> bool:
            queue = (await theirs.show("x")).queue
            unsure = ours._engine.keeper.inbox().endswith("?")
            return len(queue) == 1 and not unsure and is_heard(ours.holder.client)

        await eventually_async(listens, what="a place in line, and an open inbox")
        await held.release()
        await (await waiting).release()
    assert not [event for event in told if isinstance(event, events.PlaceLost)]
