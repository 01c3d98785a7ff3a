"""The listening connection has one user at a time, and nobody hangs up under another's hands."""

import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
from psycopg import pq

from holdfast import clock
from holdfast.backends.postgres.inbox import Inbox
from holdfast.backends.postgres.link import open_link
from holdfast.backends.postgres.target import target_of
from holdfast.rules.messages import Notice
from holdfast.settings import address
from holdfast.testing.watching import eventually
from tests.servers.shared_postgres import shared_postgres

LONG = 30.0


class Box:
    """An inbox on the shared server, and what it takes to tell it something."""

    def __init__(self) -> None:
        self.channel = f"test_{uuid4().hex[:16]}"
        until = clock.now() + LONG
        link = open_link(target_of(address(shared_postgres().url())), self.channel, until)
        link.query(f"LISTEN {self.channel}", until)
        self.inbox = Inbox(link)
        self.inbox.let_go()
        self.heard: list[Notice] = []
        self.reading, self.go_on = threading.Event(), threading.Event()

    def tell(self, words: str = "1\x1fmissed") -> None:
        """Say something, and see that it has come."""
        shared_postgres().ask("SELECT pg_notify(%s, %s)", self.channel, words)
        eventually(self.inbox.link.has_something, what="a notice")

    def sessions(self) -> int:
        """Count the connections that the server sees."""
        found = shared_postgres().ask(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", self.channel
        )
        return int(found[0][0])

    def overhear(self) -> None:
        """Read on this thread, and stop in the middle until told to go on."""
        self.inbox.overhear(LONG, self._deliver)

    def _deliver(self, notice: Notice) -> None:
        self.reading.set()
        assert self.go_on.wait(LONG)
        self.heard.append(notice)


@pytest.fixture
def box() -> Iterator[Box]:
    """Give an inbox that is open."""
    made = Box()
    yield made
    made.go_on.set()


@pytest.fixture
def reader(box: Box) -> threading.Thread:
    """Give a thread that is reading it, and does not come to an end."""
    box.tell()
    thread = threading.Thread(target=box.overhear, daemon=True)
    thread.start()
    assert box.reading.wait(LONG)
    return thread


def test_nobody_hangs_up_under_a_reader(box: Box, reader: threading.Thread) -> None:
    """The keeper leaves the connection to who does not let go of it: closing it would crash."""
    assert box.inbox.take() is False
    assert box.inbox.fileno() == -1  # nobody goes there any more
    assert box.inbox.link.connection.status == pq.ConnStatus.OK
    box.go_on.set()
    reader.join(LONG)
    assert [notice.what for notice in box.heard] == ["missed"]


def test_what_was_left_is_hung_up_by_its_last_user(box: Box, reader: threading.Thread) -> None:
    """No connection stays behind at the server."""
    assert box.inbox.take() is False
    assert box.sessions() == 1
    box.go_on.set()
    reader.join(LONG)
    del box.inbox
    eventually(lambda: box.sessions() == 0, what="the end of the session")


def test_what_was_left_is_not_read_again(box: Box, reader: threading.Thread) -> None:
    """Whoever still knows of it keeps his hands off."""
    assert box.inbox.take() is False
    box.go_on.set()
    reader.join(LONG)
    box.tell()
    box.overhear()
    assert box.inbox.take() is False
    assert len(box.heard) == 1


def test_the_keeper_waits_for_a_look_to_end(box: Box, reader: threading.Thread) -> None:
    """A look is short: who comes meanwhile finds the connection as good as before."""
    box.go_on.set()
    reader.join(LONG)
    assert box.inbox.take() is True
    assert box.inbox.fileno() >= 0
    box.inbox.close()
    assert box.inbox.fileno() == -1
    eventually(lambda: box.sessions() == 0, what="the end of the session")
    box.overhear()  # in vain, and without harm


def test_what_ended_meanwhile_is_not_trusted(box: Box) -> None:
    """The server hung up: whoever looks finds out, and the keeper does not get it again."""
    shared_postgres().ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
        box.channel,
    )
    eventually(box.inbox.link.has_something, what="the end")
    box.go_on.set()

    def found_out() -> bool:
        box.overhear()
        return box.inbox.fileno() == -1

    eventually(found_out, what="a look that finds it")
    assert box.inbox.take() is False


@pytest.mark.parametrize(
    "words", ["", "hello", "1", "1\x1fgranted", "1\x1fgranted\x1fa\x1fb\x1fc\x1fd\x1f\x1fx\x1f"]
)
def test_whatever_else_is_said_there_is_passed_by(box: Box, words: str) -> None:
    """Anybody may say anything on a channel: it neither hurts who listens nor closes his ear."""
    box.go_on.set()
    box.tell(words)
    box.overhear()
    assert box.heard == []
    box.tell()
    box.overhear()
    assert [notice.what for notice in box.heard] == ["missed"]
