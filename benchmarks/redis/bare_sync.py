"""The yardstick of threads: a blocking socket, hiredis and nothing else.

Take is ``SET key token NX PX 10000``, give back is a script that deletes the key if it still has
the token. Each take has a token of its own, as it must; all other bytes of a command are laid out
once. No pool, no retry, no timeout. Counterpart: ``bare_async``.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from typing import Any, cast

import hiredis

GIVE_BACK = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
)

CHUNK = 65_536


def packed(*words: str | float | bytes) -> bytes:
    """Lay out a command as it travels."""
    command: bytes = hiredis.pack_command(cast("tuple[str]", words))  # its stub knows one word only
    return command


class Wire:
    """One connection: send some bytes, read one reply."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = hiredis.Reader(notEnoughData=...)

    def ask(self, command: bytes) -> Any:
        """Send a packed command and wait for its reply; an error is raised."""
        self.socket.sendall(command)
        return self.read()

    def read(self) -> Any:
        """Wait for the next thing that the server says."""
        while (reply := self.reader.gets()) is ...:
            self.reader.feed(self.socket.recv(CHUNK))
        if isinstance(reply, Exception):
            raise reply
        return reply

    def run(self, *words: str | float | bytes) -> Any:
        """Pack a command, send it, read its reply."""
        return self.ask(packed(*words))

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


class Pair:
    """Take and give back one key: all of both commands but the token, laid out."""

    def __init__(self, key: str, give_back: str) -> None:
        blank = "?" * 24
        self._owner = os.urandom(4).hex().encode()
        self._turns = count(1 << 60)
        take = packed("SET", key, blank, "NX", "PX", 10_000)
        give = packed("EVALSHA", give_back, 1, key, blank)
        self._take, self._take_end = take.split(blank.encode())
        self._give, self._give_end = give.split(blank.encode())

    def commands(self) -> tuple[bytes, bytes]:
        """Give both commands with a token that was never used before."""
        token = b"%b%016x" % (self._owner, next(self._turns))
        return self._take + token + self._take_end, self._give + token + self._give_end


@contextmanager
def bare(port: int) -> Iterator[Callable[[str, float], int]]:
    """Work on any number of threads, each on a connection of its own, kept for the next turn."""
    with ExitStack() as stack:
        wires: list[Wire] = []
        with closing(Wire(port)) as first:
            give_back: str = first.run("SCRIPT", "LOAD", GIVE_BACK).decode()

        def work(name: str, until: float) -> int:
            try:
                wire = wires.pop()
            except IndexError:
                wire = stack.enter_context(closing(Wire(port)))
            ask, commands = wire.ask, Pair(name, give_back).commands
            cycles = 0
            while time.perf_counter() < until:
                take, give = commands()
                if ask(take) != b"OK" or ask(give) != 1:
                    raise RuntimeError(f"somebody else had {name!r}")
                cycles += 1
            wires.append(wire)
            return cycles

        yield work
