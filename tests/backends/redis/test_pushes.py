"""What comes unasked on a connection on which somebody also asks."""

import socket

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.inboxes import Inboxes
from holdfast.backends.redis.link import Link
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import target_of
from holdfast.settings import address
from tests.servers.redis import RedisServer


def test_a_push_right_behind_a_reply_is_heard() -> None:
    """It may have come with the same bytes; then there is nothing left to read on the socket."""
    here, there = socket.socketpair()
    link = Link(here, ("", 0), "test")
    with here, there:
        there.send(b"+PONG\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nword\r\n")
        assert link.ask(command("PING"), clock.now(), clock.now() + 5) == b"PONG"
        assert not link.has_something()
        assert link.put_aside() == [[b"message", b"c", b"word"]]
        assert link.put_aside() == []


def test_who_found_no_server_does_not_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another caller may doubt the map just then; the next time there are servers again."""
    with RedisServer() as server:
        inboxes = Inboxes(Office(target_of(address(server.url(quarantine=0))), "p"))
        inboxes.channel = "c"
        with monkeypatch.context() as doubt:
            doubt.setattr(inboxes._office.topology, "masters", tuple)
            with pytest.raises(BackendUnavailable, match="no slot has a master"):
                inboxes.connect_inboxes(clock.now() + 5)
            assert not inboxes.is_listening()
        inboxes.connect_inboxes(clock.now() + 5)
        assert inboxes.is_listening()
        inboxes.close()
