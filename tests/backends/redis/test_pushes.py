"""What comes unasked on a connection on which somebody also asks."""

import socket

from holdfast import clock
from holdfast.backends.redis.link import Link
from holdfast.backends.redis.requests import command


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
