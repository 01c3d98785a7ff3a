"""One command to a Redis server, past every client: a socket of its own for each question.

For tests that look at the server itself. It never reconnects and never retries.
"""

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import hiredis

Word = str | int | float | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a server answers, a socket's path or host and port, and who may come in."""

    address: str | tuple[str, int]
    user: str = ""
    password: str = ""
    database: int = 0

    @classmethod
    def of(cls, url: str) -> "Door":
        """Read ``redis://[user][:password]@host[:port][/database]``; other schemes are refused."""
        parts = urlsplit(url)
        if parts.scheme not in {"redis", "valkey"} or not parts.hostname:
            raise ValueError(f"tests can only ask redis:// and valkey:// URLs, not {parts.scheme}")
        return cls(
            address=(parts.hostname, parts.port or 6379),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=int(parts.path.strip("/") or 0),
        )

    def ask(self, *words: Word, within: float = 5.0) -> Any:
        """Give the reply, decoded; raise ``hiredis.ReplyError`` for an error, ``OSError`` for none.

        A server that says nothing is a ``TimeoutError``.
        """
        before: list[tuple[Word, ...]] = []
        if self.password:
            before.append(("AUTH", self.user or "default", self.password))
        if self.database:
            before.append(("SELECT", self.database))
        with self._connect(within) as connection:
            reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
            for command in (*before, words):
                connection.sendall(hiredis.pack_command(command))  # type: ignore[arg-type]  # typed for one word
                reply = _reply(connection, reader)
                if isinstance(reply, hiredis.ReplyError):
                    raise reply
        return reply

    def _connect(self, within: float) -> socket.socket:
        if isinstance(self.address, tuple):
            return socket.create_connection(self.address, within)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(within)
            connection.connect(self.address)
        except OSError:
            connection.close()
            raise
        return connection


def _reply(connection: socket.socket, reader: hiredis.Reader) -> Any:
    while (reply := reader.gets()) is False:  # `False` itself is no RESP2 reply
        received = connection.recv(65536)
        if not received:
            raise ConnectionResetError("the server hung up")
        reader.feed(received)
    return reply
