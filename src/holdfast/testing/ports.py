"""Ports that stay one's own while nobody listens on them.

A server that is down for a while must find its port free again, and nobody may answer there
meanwhile. So ports are taken from below the range out of which the kernel serves outgoing
connections (a client that dials a closed port of that range can even reach itself), and each is
marked as taken by a UDP socket of the same number, which goes when this process does.
"""

from __future__ import annotations

import random
import socket

HOST = "127.0.0.1"
BUS = 10_000  # the bus of a cluster node listens this much above its port

_FIRST, _LAST = 12_000, 21_999  # the buses follow above them, and end below 32,768
_dice = random.SystemRandom()


class Port:
    """A TCP port of the loopback address that is kept for its owner until it is released."""

    def __init__(self) -> None:
        for _ in range(1000):
            self.number = _dice.randint(_FIRST, _LAST)
            self._mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                self._mark.bind((HOST, self.number))
                _listen(self.number).close()
                _listen(self.number + BUS).close()
            except OSError:
                self._mark.close()
            else:
                return
        raise OSError("no free port found on the loopback address")

    def listen(self) -> socket.socket:
        """Listen on it in this process."""
        return _listen(self.number)

    def release(self) -> None:
        """Let others have it."""
        self._mark.close()


def _listen(number: int) -> socket.socket:
    return socket.create_server((HOST, number), backlog=128)  # sets SO_REUSEADDR on POSIX
