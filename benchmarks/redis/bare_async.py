"""The yardstick of tasks: one asyncio connection, hiredis, futures in order, one write a turn.

``BufferedProtocol`` reads into one buffer again and again. What many tasks ask in one turn of the
loop leaves together at its end. No timeout, no cancellation, no reconnecting.
Counterpart: ``bare_sync``.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import hiredis

from benchmarks.redis.bare_sync import CHUNK, GIVE_BACK, Pair, packed


class Protocol(asyncio.BufferedProtocol):
    """One multiplexed connection."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(CHUNK)
        self._reader = hiredis.Reader(notEnoughData=...)
        self._feed: Callable[..., None] = self._reader.feed  # its stub knows no buffers
        self._asked: deque[asyncio.Future[Any]] = deque()
        self._unsent: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)  # asyncio sets TCP_NODELAY itself
        self.transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio names it
        """Say where to read to."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Hand each reply to the one who asked first."""
        self._feed(self._buffer, 0, nbytes)
        gets, next_asked = self._reader.gets, self._asked.popleft
        while (reply := gets()) is not ...:
            next_asked().set_result(reply)

    def ask(self, command: bytes) -> asyncio.Future[Any]:
        """Send a packed command at the end of this turn; give what its reply comes in."""
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(command)
        asked = self._loop.create_future()
        self._asked.append(asked)
        return asked

    def _send(self) -> None:
        self.transport.write(b"".join(self._unsent))
        self._unsent.clear()


@asynccontextmanager
async def bare(port: int) -> AsyncIterator[Callable[[str, float], Awaitable[int]]]:
    """Work in any number of tasks on one connection."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(Protocol, "127.0.0.1", port)
    loaded = await protocol.ask(packed("SCRIPT", "LOAD", GIVE_BACK))
    give_back: str = loaded.decode()

    async def work(name: str, until: float) -> int:
        ask, commands = protocol.ask, Pair(name, give_back).commands
        cycles = 0
        while time.perf_counter() < until:
            take, give = commands()
            if await ask(take) != b"OK" or await ask(give) != 1:
                raise RuntimeError(f"somebody else had {name!r}")
            cycles += 1
        return cycles

    try:
        yield work
    finally:
        transport.close()
