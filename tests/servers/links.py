"""One connection through the proxy: the client's side, the server's side, and what is between.

All of it happens in the thread of the proxy's event loop (`proxy.py`).
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import cast

from tests.servers.mood import Mood, Traffic


class Side(asyncio.Protocol):
    """One end of a link. What is sent to it goes out in order, late if the proxy is late."""

    def __init__(self, link: "Link", traffic: Traffic) -> None:
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


class Link:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(self, mood: Mood, links: "set[Link]", target: tuple[str, int]) -> None:
        self.mood = mood
        self.client = Side(self, mood.requests)
        self.damaged = False  # something that was said here is lost
        self.gone = asyncio.Event()
        self._server = Side(self, mood.replies)
        self._links = links
        self._target = target
        self._dialling: asyncio.Task[None] | None = None
        self._doomed = False  # its reply is to be lost
        self._answered = False
        self._over = False

    def opened(self, side: Side) -> None:
        """Lead a new client to the server, unless the proxy plays dead."""
        if side is self._server:
            return
        self.mood.accepted += 1
        self._links.add(self)
        if self.mood.silent:
            self.damaged = True
        elif self.mood.held:
            self.pause()
        else:
            self.resume()

    def carry(self, side: Side, chunk: bytes) -> None:
        """Pass a chunk on to the other side, or not."""
        if self.mood.silent:
            self.damaged = True
        elif side is self.client:
            self._doomed = self.mood.drops(chunk) or self._doomed
            self._server.send(chunk)
        elif not self._doomed:
            self.client.send(chunk)
        elif not self._answered:
            # Requests may be under way behind the one that was answered: the server reads all of
            # them before it comes to the end and hangs up, so what was to be done is done then.
            self._answered = True
            self._server.end()

    def closed(self, side: Side) -> None:
        """Tell the other side, if it is to know."""
        if side is self._server and self._doomed:
            self.mood.dropped += self._answered
            self.client.cut(reset=True)
        elif self.mood.silent:
            self.damaged = True
        elif side is self._server:
            self.client.close()
        elif self._doomed:
            self._server.end()
        else:
            self._server.close()
        self._see_if_gone()

    def pause(self) -> None:
        """Leave what both sides say where it is."""
        self.client.listen(wanted=False)
        self._server.listen(wanted=False)

    def resume(self) -> None:
        """Take what both sides say; dial the server first where that has not happened."""
        if self._dialling is None:
            self._dialling = asyncio.get_running_loop().create_task(self._dial())
        self.client.listen(wanted=True)
        self._server.listen(wanted=True)

    def cut(self, *, politely: bool) -> None:
        """Cut both sides at once."""
        self._over = True
        if self._dialling is not None:
            self._dialling.cancel()
        self.client.cut(reset=not politely)
        self._server.cut(reset=False)
        self._see_if_gone()

    async def _dial(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self._server, *self._target)
        except OSError:
            self.client.cut(reset=True)
        finally:
            if self._over or not self.client.open:
                self._server.cut(reset=False)
            elif self.mood.held:
                self.pause()

    def _see_if_gone(self) -> None:
        if not self.client.open and not self._server.open:
            self._links.discard(self)
            self.gone.set()
