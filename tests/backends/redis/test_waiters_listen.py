"""A thread that waits in line reads the inbox itself, and what can go wrong with that."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Client, Misuse
from holdfast.backends.redis.inboxes import Inboxes
from holdfast.backends.redis.link import Link
from holdfast.testing.watching import eventually
from tests.servers.shared import SharedServer


@pytest.fixture
def prefix() -> str:
    """Keep to names of one's own on the shared server."""
    return f"listen-{uuid4().hex[:8]}"


@pytest.fixture
def ours(redis_server: SharedServer, prefix: str) -> Iterator[Client]:
    """Give the client whose threads wait."""
    with Client(redis_server.url(quarantine=0), prefix=prefix) as client:
        yield client


@pytest.fixture
def theirs(redis_server: SharedServer, prefix: str) -> Iterator[Client]:
    """Give the client that holds what the others wait for."""
    with Client(redis_server.url(quarantine=0), prefix=prefix) as client:
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


def inboxes_of(client: Client) -> Inboxes:
    """Give the keeper's connections."""
    inboxes = client._engine.keeper._session.wire.inboxes  # type: ignore[attr-defined]
    assert isinstance(inboxes, Inboxes)
    return inboxes


def hears(client: Client) -> bool:
    """Whether its inbox is open and a thread that waits listens to it."""
    ear: Any = client._engine.keeper._ear
    return inboxes_of(client).is_listening() and ear._lookout.is_manned()


def test_the_thread_that_waits_hears_its_grant(
    ours: Client, theirs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the notice on its own thread: no other has to wake it."""
    readers: list[threading.Thread] = []
    read = Link.read_pushes

    def noted(link: Link) -> list[Any]:
        pushes = read(link)
        if any(push[0] == b"message" for push in pushes):
            readers.append(threading.current_thread())
        return pushes

    def handed_over() -> bool:
        with theirs.lock("x"):
            waiter = Waiting(ours, "x")
            eventually(lambda: hears(ours), what="a thread that listens")
        assert waiter.served()
        return waiter in readers

    monkeypatch.setattr(Link, "read_pushes", noted)
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
    ours: Client, theirs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is torn away while reading leaves a connection that nobody trusts any more."""
    read = Link.read_pushes
    torn: list[Link] = []

    def interrupted(link: Link) -> list[Any]:
        if torn or not isinstance(threading.current_thread(), Waiting) or not link.has_something():
            return read(link)
        torn.append(link)
        link._socket.recv(7)  # nobody will ever see these
        raise KeyboardInterrupt

    def happened() -> bool:
        held = theirs.lock("x").acquire()
        waiters = [Waiting(ours, "x", 1), Waiting(ours, "x", 2)]
        eventually(lambda: hears(ours), what="a thread that listens")
        held.release()
        served = [waiter for waiter in waiters if waiter.served()]
        interruptions = [waiter.error for waiter in waiters if waiter not in served]
        assert [type(error) for error in interruptions] == [KeyboardInterrupt] * len(torn)
        return bool(torn)

    monkeypatch.setattr(Link, "read_pushes", interrupted)
    # Not each time: the keeper may be asking just then, and gets the notice with its answer.
    eventually(happened, what="an interrupted read")
    with theirs.lock("x"):
        waiter = Waiting(ours, "x")
        eventually(lambda: hears(ours), what="a thread that listens")
    assert waiter.served()
    assert torn[0].fileno() == -1  # whoever came next has closed it


def test_nobody_keeps_the_keeper_from_its_connections(ours: Client) -> None:
    """A thread that was torn away while it had them costs a tenth of a second, not the lease."""
    inboxes = inboxes_of(ours)
    with ours.lock("x", ttl=4.0) as lease:
        eventually(inboxes.is_listening, what="an open inbox")
        before = tuple(inboxes.listening.values())
        thread = threading.Thread(target=inboxes._using.acquire)  # and never gives it back
        thread.start()
        thread.join()
        eventually(lambda: all(link.fileno() == -1 for link in before), what="their end")
        deadline = lease._state.deadline
        eventually(lambda: lease._state.deadline > deadline, what="a renewal")
        lease.check()
        eventually(inboxes.is_listening, what="another connection")


def test_who_waits_while_the_client_is_closed_is_told(ours: Client, theirs: Client) -> None:
    """The thread on the lookout leaves in good order, and what it looked out with is closed."""
    with theirs.lock("x"):
        waiter = Waiting(ours, "x")
        eventually(lambda: hears(ours), what="a thread that listens")
        lookout = ours._engine.keeper._ear._lookout  # type: ignore[union-attr]
        ours.close()
        waiter.join(30)
        assert isinstance(waiter.error, Misuse)
        eventually(lambda: lookout._horn.fileno() == -1, what="a closed pipe")
