"""Listens in on what this process writes to its sockets: nothing in the library knows of it."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

PAUSE = 0.1
"""Writes that follow each other more quickly belong to the same burst."""


class Write(NamedTuple):
    """One call that handed bytes to the kernel."""

    at: float
    requests: int
    size: int


@contextmanager
def tapped() -> Iterator[list[Write]]:
    """Hear every write of every socket inside; scripts are counted as requests."""
    heard: list[Write] = []
    send, sendall, sendmsg = socket.socket.send, socket.socket.sendall, socket.socket.sendmsg

    def hear(*buffers: Any) -> None:
        data = b"".join(buffers)
        heard.append(Write(time.monotonic(), data.count(b"\r\nEVALSHA\r\n"), len(data)))

    def tapped_send(self: socket.socket, data: Any, *more: Any) -> int:
        hear(data)
        return send(self, data, *more)

    def tapped_sendall(self: socket.socket, data: Any, *more: Any) -> None:
        hear(data)
        sendall(self, data, *more)

    def tapped_sendmsg(self: socket.socket, buffers: Any, *more: Any) -> int:
        hear(*buffers)
        return sendmsg(self, buffers, *more)

    with (
        patch.object(socket.socket, "send", tapped_send),
        patch.object(socket.socket, "sendall", tapped_sendall),
        patch.object(socket.socket, "sendmsg", tapped_sendmsg),
    ):
        yield heard


def bursts(writes: Sequence[Write]) -> list[list[Write]]:
    """Put together what was written in one go."""
    found = [[write] for write in writes[:1]]
    for before, after in pairwise(writes):
        if after.at - before.at > PAUSE:
            found.append([])
        found[-1].append(after)
    return found
