"""A TCP proxy that misbehaves on demand: it cuts, refuses, is silent, is late, loses one reply.

It runs as an event loop in a thread of its own. Every order takes effect before the call returns.
What it sees are chunks, as they come out of the socket: a match is a match of one chunk, whatever
requests are in it. What happens to one connection is in `links.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from holdfast.testing.ports import HOST, Port
from holdfast.testing.proxy.links import Link
from holdfast.testing.proxy.mood import Mood, Traffic
from holdfast.testing.scope import Scoped

T = TypeVar("T")

Matching = bytes | Callable[[bytes], bool]


class Proxy(Scoped):
    """A port of its own in front of a server's; ``with`` opens and closes it."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target  # where new connections lead to; it may be changed
        self._kept = Port()
        self.port = self._kept.number
        self.address = (HOST, self.port)
        self._mood = Mood()
        self._links: set[Link] = set()
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listener: socket.socket | None = None
        self._arriving: set[asyncio.Task[Any]] = set()

    @property
    def requests(self) -> Traffic:
        """What came from clients, whether or not it was passed on."""
        return self._mood.requests

    @property
    def replies(self) -> Traffic:
        """What came from the server, whether or not it was passed on."""
        return self._mood.replies

    @property
    def dropped_replies(self) -> int:
        """How many replies were lost on order, each after the server had done what it was asked."""
        return self._mood.dropped

    @property
    def connections_made(self) -> int:
        """How many connections were accepted so far."""
        return self._mood.accepted

    @property
    def connections_open(self) -> int:
        """How many of them the client has open."""
        return sum(link.client.open for link in tuple(self._links))

    def start(self) -> Self:
        """Listen, and pass everything on."""
        self._thread.start()
        self._do(self._listen())
        return self

    def mend(self) -> None:
        """Pass everything on again; cut the connections on which something was lost."""
        self._do(self._mend())

    def cut(self, *, politely: bool = False) -> int:
        """Cut every connection, by RST or politely by FIN; new ones are welcome. Say how many."""
        return self._do(self._cut(politely=politely))

    def refuse(self) -> None:
        """Refuse new connections; those that are open stay."""
        self._do(self._refuse())

    def silence(self) -> None:
        """Swallow what both sides say, and accept new connections without a word: a silent peer."""
        self._set(silent=True)

    def hold(self) -> None:
        """Keep back what both sides say, and deliver it late, when mended."""
        self._do(self._hold())

    def delay(self, seconds: float) -> None:
        """Deliver each chunk of either direction that much later, in order."""
        self._set(delay=seconds)

    def drop_reply(self, matching: Matching, times: int = 1) -> None:
        """Lose the replies to the next requests that match: the server has done what they ask.

        The request goes to the server. Its reply, and whatever else the server says on that
        connection, is swallowed, and then the connection is cut. A later call replaces this one.
        """

        def contains(chunk: bytes) -> bool:
            return matching in chunk if isinstance(matching, bytes) else matching(chunk)

        self._set(to_drop=contains, drops_left=times)

    def close(self) -> None:
        """Cut everything and be gone."""
        if self._loop.is_closed():
            return
        if self._thread.is_alive():
            self._do(self._refuse())
            self._do(self._cut(politely=False))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._kept.release()

    async def _listen(self) -> None:
        # Not `create_server`: closed at the wrong moment it loses a connection and leaves it open.
        if self._listener is None:
            self._listener = self._kept.listen()
            self._listener.setblocking(False)
            self._loop.add_reader(self._listener, self._accept, self._listener)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # who knocked may have left again
            connection, _ = listener.accept()
            client = Link(self._mood, self._links, self.target).client
            arriving = self._loop.connect_accepted_socket(lambda: client, connection)
            task = self._loop.create_task(arriving)
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    async def _refuse(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        await self._arrived()

    async def _arrived(self) -> None:
        if self._arriving:
            await asyncio.wait(tuple(self._arriving))

    async def _hold(self) -> None:
        self._mood.held = True
        for link in tuple(self._links):
            link.pause()

    async def _mend(self) -> None:
        mood = self._mood
        mood.silent, mood.held, mood.delay, mood.drops_left = False, False, 0.0, 0
        await self._gone([link for link in self._links if link.damaged], politely=False)
        for link in tuple(self._links):
            link.resume()
        await self._listen()

    async def _cut(self, *, politely: bool) -> int:
        await self._arrived()
        return await self._gone(list(self._links), politely=politely)

    async def _gone(self, links: list[Link], *, politely: bool) -> int:
        for link in links:
            link.cut(politely=politely)
        for link in links:
            await link.gone.wait()
        return len(links)

    def _set(self, **what: Any) -> None:
        async def setting() -> None:
            for name, value in what.items():
                setattr(self._mood, name, value)

        self._do(setting())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)
