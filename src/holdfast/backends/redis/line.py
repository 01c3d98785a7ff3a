"""One multiplexed connection for tasks: many ask, one write per turn of the loop, replies in order.

A ``BufferedProtocol``, so that bytes go from the socket into the parser without a copy. Nothing is
retried here: whoever waits when the line breaks is told so, and decides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import repeat
from math import inf
from typing import Any, Protocol, TypeAlias

from hiredis import HiredisError, PushNotification, Reader

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.calls import TOGETHER, Bundle, Call, Parcel
from holdfast.backends.redis.link import LOADING, NOTHING_YET
from holdfast.backends.redis.target import Where

BUFFER = 65_536
RECENTLY = 1.0
SILENCE = 1.0
"""A server that owes a reply and has said nothing for so long is given up."""

BUSY = 4
"""A server that owes so many replies has enough to do until the loop's turn is over. With less, a
full command leaves at once: else the two would take turns, and never work at the same time."""

ALONE = object()
"""The reply to each of several that the server refused together: ask for yourself."""


class Waiter(Protocol):
    """Who waits for a reply: a future, or whatever can be told like one."""

    def done(self) -> bool:
        """Whether it waits no more."""

    def set_result(self, reply: Any, /) -> None:
        """Take the reply; it is called when it comes, and must not raise."""

    def set_exception(self, error: Any, /) -> None:
        """Take the reason why there is none."""


class _Nobody:
    """Waits for the reply to a command that only goes ahead of another."""

    def done(self) -> bool:
        """Say that it need not be told."""
        return True

    def set_result(self, reply: Any, /) -> None:
        """Not be told."""

    def set_exception(self, error: Any, /) -> None:
        """Not be told."""


NOBODY = _Nobody()

Waiting: TypeAlias = tuple[Waiter, float]
"""Who waits for a reply, and until when."""

FOR_NOBODY: list[Waiting] = [(NOBODY, inf)]


class Everybody(list[Waiting]):
    """Those who all get the whole of one reply, not a part of it each."""


Opened: TypeAlias = tuple[Call, list[bytes], list[bytes], list[Waiting]]
"""A bundle that is not full: its call, what it has of keys and of words, and who waits for it."""


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
        self.held_until = 0.0  # in Cluster: until then its node must not grant anything
        self._shown = shown
        self._hear = hear
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(BUFFER))
        self._reader = Reader(notEnoughData=NOTHING_YET)
        self._waiting: deque[list[Waiting]] = deque()  # who shares each reply that is owed
        self._outgoing: list[bytes | Bundle] = []
        self._open: dict[str, Opened] = {}  # not full yet, by script
        self._look_at = inf
        self._timer: asyncio.TimerHandle | None = None
        self._told: dict[bytes, float] = {}
        self._heard_at = clock.now()
        self.broken = ""

    def ask(self, data: bytes, deadline: float, *, leads: bool = False) -> asyncio.Future[Any]:
        """Send one command, together with what others send in this turn; await its reply."""
        future = self.loop.create_future()
        self.send(data, future, deadline, leads=leads)
        return future

    def send(self, data: bytes, waiter: Waiter, deadline: float, *, leads: bool = False) -> None:
        """Send one command; the waiter is told. ``leads``: another goes ahead of it in ``data``.

        The first of a turn leaves at once if nobody waits for anything, the others follow it.
        """
        if self.broken:
            waiter.set_exception(faults.broken(self._shown, self.broken))
            return
        if not self._waiting and self._transport is not None:
            self._transport.write(data)  # nobody is under way: a caller alone waits for no turn
        else:
            if not self._outgoing:
                self.loop.call_soon(self._flush)
            self._outgoing.append(data)
        if leads:
            self._waiting.append(FOR_NOBODY)
        self._waiting.append([(waiter, deadline)])
        if deadline < self._look_at:
            self._watch(deadline)

    def send_along(self, parcel: Parcel, waiter: Waiter, deadline: float) -> None:
        """Send a request in one command with others of the same kind; the waiter is told.

        The reply is ``ALONE`` if the server refused the command as a whole: whose fault it was is
        not known, and some of it may have been done.
        """
        call, keys, words = parcel
        if self.broken or not self._waiting:
            self.send(call.one(keys, words), waiter, deadline, leads=call.leads)
            return
        common, all_keys, all_words, waiters = self._open.get(call.kind) or self._opened(call)
        if common is not call:
            _, all_keys, all_words, waiters = self._opened(call)
        all_keys.append(keys)
        all_words.append(words)
        waiters.append((waiter, deadline))
        if deadline < self._look_at:
            self._watch(deadline)
        if len(waiters) == TOGETHER:
            del self._open[call.kind]
            if len(self._waiting) - len(self._outgoing) < BUSY:
                self._flush()  # with all that stands before it, so the order stays

    def share(self, data: bytes, waiters: Everybody) -> None:
        """Send one command; all of the waiters are told its reply, each until its own deadline."""
        if self.broken:
            for waiter, _ in waiters:
                waiter.set_exception(faults.broken(self._shown, self.broken))
            return
        self.send(data, NOBODY, inf)
        self._waiting[-1] = waiters
        deadline = min(until for _, until in waiters)
        if deadline < self._look_at:
            self._watch(deadline)

    def _opened(self, call: Call) -> Opened:
        """Begin a bundle; claims with another call come after it, so they stay in their order."""
        if not self._outgoing:
            self.loop.call_soon(self._flush)
        bundle = Bundle(call)
        opened = self._open[call.kind] = call, bundle.keys, bundle.words, []
        self._outgoing.append(bundle)
        if call.leads:
            self._waiting.append(FOR_NOBODY)
        self._waiting.append(opened[3])
        return opened

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
        self._open.clear()
        if outgoing and self._transport is not None and not self.broken:
            data = [one if isinstance(one, bytes) else one.written() for one in outgoing]
            self._transport.write(b"".join(data))

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
                    _hand_out(waiting.popleft(), reply)
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
            for waiter, _ in self._waiting.popleft():
                if not waiter.done():
                    waiter.set_exception(faults.broken(self._shown, reason))

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
        owed = (together for together in self._waiting if together is not FOR_NOBODY)
        waiters = [waiting for together in owed for waiting in together]
        for waiter, deadline in waiters:
            if deadline <= now and not waiter.done():
                waiter.set_exception(faults.silent(self._shown))
        if waiters and waiters[0][1] <= now and now - self._heard_at >= SILENCE:
            self.close("the server was silent")
            return
        later = min((deadline for one, deadline in waiters if not one.done()), default=inf)
        if later < inf:
            self._watch(later)


def _hand_out(waiters: list[Waiting], reply: Any) -> None:
    """Give one reply to the only one who waits for it, or each the part that is its own."""
    if len(waiters) == 1:
        waiter = waiters[0][0]
        if not waiter.done():
            waiter.set_result(reply)
        return
    if isinstance(waiters, Everybody):
        for waiter, _ in waiters:
            if not waiter.done():
                waiter.set_result(reply)
        return
    parted = type(reply) is list and len(reply) == len(waiters)
    for (waiter, _), one in zip(waiters, reply if parted else repeat(ALONE), strict=parted):
        if not waiter.done():
            waiter.set_result(one)


def _confirms(push: list[Any]) -> bool:
    """Whether a push is the reply to a SUBSCRIBE: it keeps its place among the replies."""
    return bool(push[0] == b"subscribe")
