"""One multiplexed connection for tasks: many ask, one write per turn of the loop, replies in order.

A ``BufferedProtocol``, so that bytes go from the socket into the parser without a copy. Nothing is
retried here: whoever waits when the line breaks is told so, and decides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any

from hiredis import HiredisError, PushNotification, Reader

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.link import LOADING, NOTHING_YET
from holdfast.backends.redis.target import Where

BUFFER = 65_536
RECENTLY = 1.0
SILENCE = 1.0
"""A server that owes a reply and has said nothing for so long is given up."""


class Line(asyncio.BufferedProtocol):
    """A connection of one event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        where: Where,
        shown: str,
        hear: Callable[[list[Any]], None],
        lost: Callable[[Line], None],
    ) -> None:
        self.loop = loop
        self.where = where
        self.protocol = 3
        self.generation = 0
        self._shown = shown
        self._hear = hear
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(BUFFER))
        self._reader = Reader(notEnoughData=NOTHING_YET)
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._outgoing: list[bytes] = []
        self._look_at = inf
        self._timer: asyncio.TimerHandle | None = None
        self._told: dict[bytes, float] = {}
        self._heard_at = clock.now()
        self.broken = ""

    def ask(self, data: bytes, deadline: float) -> asyncio.Future[Any]:
        """Send one command, together with what others send in this turn; await its reply.

        The first of a turn leaves at once if nobody waits for anything, the others follow it.
        """
        future = self.loop.create_future()
        if self.broken:
            future.set_exception(faults.broken(self._shown, self.broken))
            return future
        if not self._waiting and self._transport is not None:
            self._transport.write(data)  # nobody is under way: a caller alone waits for no turn
        else:
            if not self._outgoing:
                self.loop.call_soon(self._flush)
            self._outgoing.append(data)
        self._waiting.append((future, deadline))
        if deadline < self._look_at:
            self._watch(deadline)
        return future

    def was_told(self, command: bytes) -> bool:
        """Whether somebody sent this very command a moment ago: then it need not be said again."""
        if not command.startswith(LOADING):
            return False
        now = clock.now()
        if self._told.get(command, -inf) > now - RECENTLY:
            return True
        self._told[command] = now
        return False

    def close(self, reason: str = "this client is closed") -> None:
        """Hang up at once."""
        self._break(reason)
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if self._transport is not None and not self.broken:
            self._transport.write(b"".join(outgoing))

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - streams have no other
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the protocol's shape
        """Give the loop a place to read into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Hand out what has arrived."""
        reader, waiting = self._reader, self._waiting
        self._heard_at = clock.now()
        try:
            reader.feed(self._buffer, 0, nbytes)  # type: ignore[arg-type]  # any buffer will do
            reply = reader.gets()
            while reply is not NOTHING_YET:
                if not waiting or (isinstance(reply, PushNotification) and not _confirms(reply)):
                    self._hear(reply)
                else:
                    future = waiting.popleft()[0]
                    if not future.done():
                        future.set_result(reply)
                reply = reader.gets()
        except HiredisError as error:
            self.close(f"not the language of Redis: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits."""
        reason = "the server hung up" if exc is None else str(exc) or type(exc).__name__
        self._break(reason)
        self._lost(self)

    def _break(self, reason: str) -> None:
        self.broken = self.broken or reason
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            future = self._waiting.popleft()[0]
            if not future.done():
                future.set_exception(faults.broken(self._shown, reason))

    # Deadlines: one timer for all, because replies come in order

    def _watch(self, deadline: float) -> None:
        self._look_at = deadline
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(max(0.0, deadline - clock.now()), self._look)

    def _look(self) -> None:
        """Fail what is overdue; its place stays, for the reply that may still come."""
        self._timer = None
        self._look_at = inf
        now = clock.now()
        for future, deadline in self._waiting:
            if deadline <= now and not future.done():
                future.set_exception(faults.silent(self._shown))
        if self._waiting and self._waiting[0][1] <= now and now - self._heard_at >= SILENCE:
            self.close("the server was silent")
            return
        later = min((deadline for one, deadline in self._waiting if not one.done()), default=inf)
        if later < inf:
            self._watch(later)


def _confirms(push: list[Any]) -> bool:
    """Whether a push is the reply to a SUBSCRIBE: it keeps its place among the replies."""
    return bool(push[0] == b"subscribe")
