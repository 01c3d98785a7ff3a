"""One end of a connection through the proxy: what comes from there, and what is sent there."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from holdfast.testing.proxy.mood import Traffic

if TYPE_CHECKING:
    from holdfast.testing.proxy.links import Link


class Side(asyncio.Protocol):
    """One end of a link. What is sent to it goes out in order, late if the proxy is late."""

    def __init__(self, link: Link, traffic: Traffic) -> None:
        self._link = link
        self._traffic = traffic
        self._transport: asyncio.Transport | None = None
        self._before: list[Callable[[asyncio.Transport], None]] = []
        self._on_the_way = 0
        self._last_at = 0.0
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self.open = True
        self._link.opened(self)
        for action in self._before:
            self._in_order(action)

    def data_received(self, data: bytes) -> None:
        """Give what came to the link."""
        self._traffic.add(data)
        self._link.carry(self, data)

    def connection_lost(self, _error: Exception | None) -> None:
        """Take note of the end."""
        self.open = False
        self._link.closed(self)

    def send(self, chunk: bytes) -> None:
        """Pass a chunk to whoever is at this end."""
        self._in_order(lambda transport: transport.write(chunk))

    def end(self) -> None:
        """Say that nothing more will come, after what is on its way; go on listening."""
        self._in_order(lambda transport: transport.write_eof())

    def close(self) -> None:
        """Close after what is on its way."""
        self._in_order(lambda transport: transport.close())

    def cut(self, *, reset: bool) -> None:
        """Close at once, by RST or by FIN."""
        if self._transport is None or not self.open:
            return
        connection = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError):  # the other end may have been quicker
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.shutdown(socket.SHUT_WR)
        self._transport.abort()

    def listen(self, *, wanted: bool) -> None:
        """Take what comes from this end, or leave it where it is."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def _in_order(self, action: Callable[[asyncio.Transport], None]) -> None:
        transport, loop = self._transport, asyncio.get_running_loop()
        if transport is None:
            self._before.append(action)  # until there is a connection
            return

        def act() -> None:
            self._on_the_way -= 1
            if not transport.is_closing():
                action(transport)

        self._on_the_way += 1
        if self._on_the_way == 1 and not self._link.mood.delay:
            act()
        else:
            self._last_at = max(self._last_at + 1e-6, loop.time() + self._link.mood.delay)
            loop.call_at(self._last_at, act)
