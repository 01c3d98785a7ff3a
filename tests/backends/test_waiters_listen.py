"""A thread that waits in line reads the inbox itself, and what can go wrong with that."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Client, Misuse
from holdfast.backends.postgres.inbox import Inbox
from holdfast.backends.redis.link import Link
from holdfast.testing.watching import eventually
from tests.servers.shared import shared_server
from tests.servers.shared_postgres import shared_postgres


@dataclass(frozen=True)
class Ground:
    """A server that tells waiters, and where a client of it listens."""

    name: str
    url: Callable[[], str]
    box: type
    """What is read, by a method of that name:"""
    read: str
    tells: Callable[[Any], bool]
    """Whether what was read has a notice in it."""
    has_something: Callable[[Any], object]
    spoil: Callable[[Any], object]
    """Read a part, and lose it."""
    boxes: Callable[[Any], Sequence[Any]]
    """The boxes of a keeper's wire."""
    lock: Callable[[Any], Any]
    """The lock that whoever reads there has."""
    is_listening: Callable[[Any], bool]


def _lose_notices(inbox: Inbox) -> None:
    inbox.link.take_in()
    inbox.link.heard.clear()


REDIS = Ground(
    name="redis",
    url=lambda: shared_server().url(quarantine=0),
    box=Link,
    read="read_pushes",
    tells=lambda pushes: any(push[0] == b"message" for push in pushes),
    has_something=Link.has_something,
    spoil=lambda link: link._socket.recv(7),
    boxes=lambda wire: tuple(wire.inboxes.listening.values()),
    lock=lambda wire: wire.inboxes._using,
    is_listening=lambda wire: wire.inboxes.is_listening(),
)

POSTGRES = Ground(
    name="postgres",
    url=lambda: shared_postgres().url(quarantine=0),
    box=Inbox,
    read="read",
    tells=bool,
    has_something=lambda inbox: inbox.link.has_something(),
    spoil=_lose_notices,
    boxes=lambda wire: () if wire.inbox is None else (wire.inbox,),
    lock=lambda wire: wire.inbox._using,
    is_listening=lambda wire: wire.hears,
)


@pytest.fixture(params=[REDIS, POSTGRES], ids=lambda ground: ground.name)
def ground(request: pytest.FixtureRequest) -> Ground:
    """Give each server on which threads listen."""
    found: Ground = request.param
    return found


@pytest.fixture
def prefix() -> str:
    """Keep to names of one's own on the shared server."""
    return f"listen-{uuid4().hex[:8]}"


@pytest.fixture
def ours(ground: Ground, prefix: str) -> Iterator[Client]:
    """Give the client whose threads wait."""
    with Client(ground.url(), prefix=prefix) as client:
        yield client


@pytest.fixture
def theirs(ground: Ground, prefix: str) -> Iterator[Client]:
    """Give the client that holds what the others wait for."""
    with Client(ground.url(), prefix=prefix) as client:
        yield client


class Waiting(threading.Thread):
    """Waits for the name and gives it back; gets in line before the constructor returns."""

    def __init__(self, client: Client, name: str, place: int = 1) -> None:
        super().__init__(daemon=True)
        self.error: BaseException | None = None
        self._lock = client.lock(name, wait=30)
        self.start()
        eventually(lambda: len(client.show(name).queue) == place, what="a place in line")

    def run(self) -> None:
        """Wait, go in and come out."""
        try:
            with self._lock:
                pass
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def served(self) -> bool:
        """Whether it had its turn."""
        self.join(30)
        return not self.is_alive() and self.error is None


def wire_of(client: Client) -> Any:
    """Give the keeper's wire."""
    return client._engine.keeper._session.wire


def hears(ground: Ground, client: Client) -> bool:
    """Whether its inbox is open and a thread that waits listens to it."""
    ear: Any = client._engine.keeper._ear
    return ground.is_listening(wire_of(client)) and ear._lookout.is_manned()


def test_the_thread_that_waits_hears_its_grant(
    ground: Ground, ours: Client, theirs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the notice on its own thread: no other has to wake it."""
    readers: list[threading.Thread] = []
    read = getattr(ground.box, ground.read)

    def noted(box: Any) -> Any:
        heard = read(box)
        if ground.tells(heard):
            readers.append(threading.current_thread())
        return heard

    def handed_over() -> bool:
        with theirs.lock("x"):
            waiter = Waiting(ours, "x")
            eventually(lambda: hears(ground, ours), what="a thread that listens")
        assert waiter.served()
        return waiter in readers

    monkeypatch.setattr(ground.box, ground.read, noted)
    # Not each time: the keeper may be asking just then, and gets the notice with its answer.
    eventually(handed_over, what="a thread that heard of its own grant")


def test_the_keeper_hears_when_nobody_waits(ours: Client, theirs: Client) -> None:
    """A holder whose lock is broken is told at once, also if it waited for the lock before."""
    told = threading.Event()
    held = theirs.lock("x").acquire()

    def release() -> None:
        eventually(lambda: len(theirs.show("x").queue) == 1, what="a place in line")
        held.release()

    releasing = threading.Thread(target=release)
    releasing.start()
    with ours.lock("x", on_loss="flag") as lease:  # its deadline and first renewal are far away
        lease.on_lost(told.set)
        theirs.break_lock("x", token=lease.token, reason="a test", force=True)
        assert told.wait(10)
    releasing.join()


def test_an_interrupted_read_spoils_nothing(
    ground: Ground, ours: Client, theirs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is torn away while reading leaves a connection that nobody trusts any more."""
    read = getattr(ground.box, ground.read)
    torn: list[Any] = []

    def interrupted(box: Any) -> Any:
        waits = isinstance(threading.current_thread(), Waiting)
        if torn or not waits or not ground.has_something(box):
            return read(box)
        torn.append(box)
        ground.spoil(box)  # nobody will ever see what this was
        raise KeyboardInterrupt

    def happened() -> bool:
        held = theirs.lock("x").acquire()
        waiters = [Waiting(ours, "x", 1), Waiting(ours, "x", 2)]
        eventually(lambda: hears(ground, ours), what="a thread that listens")
        held.release()
        served = [waiter for waiter in waiters if waiter.served()]
        interruptions = [waiter.error for waiter in waiters if waiter not in served]
        assert [type(error) for error in interruptions] == [KeyboardInterrupt] * len(torn)
        return bool(torn)

    monkeypatch.setattr(ground.box, ground.read, interrupted)
    # Not each time: the keeper may be asking just then, and gets the notice with its answer.
    eventually(happened, what="an interrupted read")
    with theirs.lock("x"):
        waiter = Waiting(ours, "x")
        eventually(lambda: hears(ground, ours), what="a thread that listens")
    assert waiter.served()
    assert torn[0].fileno() == -1  # whoever came next has closed it


def test_nobody_keeps_the_keeper_from_its_connections(ground: Ground, ours: Client) -> None:
    """A thread that was torn away while it had them costs a tenth of a second, not the lease."""
    wire = wire_of(ours)
    with ours.lock("x", ttl=4.0) as lease:
        eventually(lambda: ground.is_listening(wire), what="an open inbox")
        before = ground.boxes(wire)
        thread = threading.Thread(target=ground.lock(wire).acquire)  # and never gives it back
        thread.start()
        thread.join()
        eventually(lambda: all(box.fileno() == -1 for box in before), what="their end")
        deadline = lease._state.deadline
        eventually(lambda: lease._state.deadline > deadline, what="a renewal")
        lease.check()
        eventually(lambda: ground.is_listening(wire), what="another connection")


def test_who_waits_while_the_client_is_closed_is_told(
    ground: Ground, ours: Client, theirs: Client
) -> None:
    """The thread on the lookout leaves in good order, and what it looked out with is closed."""
    with theirs.lock("x"):
        waiter = Waiting(ours, "x")
        eventually(lambda: hears(ground, ours), what="a thread that listens")
        lookout = ours._engine.keeper._ear._lookout  # type: ignore[union-attr]
        ours.close()
        waiter.join(30)
        assert isinstance(waiter.error, Misuse)
        eventually(lambda: lookout._horn.fileno() == -1, what="a closed pipe")
