"""One plain connection to a real server, on which nothing gets out of order.

It speaks RESP3: what was published to it comes as pushes between the replies, in the order in which
the server made them. So one exchange that ends with a question has heard all that went before.
"""

from __future__ import annotations

from typing import Any, Self

import hiredis

from holdfast.backends.redis.requests import Word, command
from tests.servers.scope import Scoped
from tests.servers.shared import SharedServer

_NOTHING_YET = object()


class Line(Scoped):
    """A connection; ``heard`` is what was published, as channel and payload."""

    def __init__(self, server: SharedServer) -> None:
        self._door = server._door
        self._reader = hiredis.Reader(notEnoughData=_NOTHING_YET)
        self.heard: list[tuple[str, bytes]] = []

    def start(self) -> Self:
        """Connect."""
        door = self._door
        self._socket = door._connect(10)
        login = ("AUTH", door.user or "default", door.password) if door.password else ()
        self.exchange([command("HELLO", 3, *login), command("SELECT", door.database)])
        return self

    def close(self) -> None:
        """Hang up: nobody is subscribed to anything any more."""
        if hasattr(self, "_socket"):
            self._socket.close()

    def say(self, *words: Word) -> None:
        """Send a command that is answered by a push: the next exchange comes after it."""
        self._socket.sendall(command(*words))

    def ask(self, *words: Word) -> Any:
        """Send one command and give its reply."""
        (reply,) = self.exchange([command(*words)])
        return reply

    def exchange(self, commands: list[bytes]) -> list[Any]:
        """Send all at once and read one reply each; an error of the server is raised."""
        self._socket.sendall(b"".join(commands))
        replies = [self._read() for _ in commands]
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _read(self) -> Any:
        while True:
            reply = self._reader.gets()
            if reply is _NOTHING_YET:
                data = self._socket.recv(65_536)
                assert data, "the server hung up"
                self._reader.feed(data)
            elif not isinstance(reply, hiredis.PushNotification):
                return reply
            elif reply[0] == b"pmessage":
                self.heard.append((reply[2].decode(), reply[3]))
