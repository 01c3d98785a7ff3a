"""One connection through the proxy: a client's side, a server's side, and what is passed between.

All of it happens in the thread of the proxy's event loop (`proxy.py`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.testing.proxy.mood import Mood
from holdfast.testing.proxy.sides import Side


class Link:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(self, mood: Mood, links: set[Link], target: tuple[str, int]) -> None:
        self.mood = mood
        self.client = Side(self, mood.requests)
        self.damaged = False  # something that was said here is lost
        self.gone = asyncio.Event()
        self._server = Side(self, mood.replies)
        self._links = links
        self._target = target
        self._dialling: asyncio.Task[Any] | None = None
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
            if not self._answered:  # the server was told the end then, and hears nothing more
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
            loop = asyncio.get_running_loop()
            dialling = loop.create_connection(lambda: self._server, *self._target)
            self._dialling = loop.create_task(dialling)
            self._dialling.add_done_callback(self._dialled)
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

    def _dialled(self, dialling: asyncio.Task[Any]) -> None:
        refused = not dialling.cancelled() and dialling.exception() is not None
        if self._over:
            self._server.cut(reset=False)
        elif refused:
            self.client.cut(reset=True)
        elif self.mood.held:
            self.pause()
        self._see_if_gone()

    def _see_if_gone(self) -> None:
        dialling = self._dialling is not None and not self._dialling.done()
        if not (dialling or self.client.open or self._server.open):
            self._links.discard(self)
            self.gone.set()
