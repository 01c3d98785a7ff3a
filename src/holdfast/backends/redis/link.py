"""One plain connection for threads: a blocking socket and hiredis, nothing in between.

Time limits are the kernel's (``SO_RCVTIMEO``) and set only when they change: Python's own would
cost a ``poll`` per call. A link that failed in any way is thrown away, never mended: whatever is
still under way on it belongs to nobody.
"""

from __future__ import annotations

import select
import socket
import struct
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from hiredis import HiredisError, PushNotification, Reader

from holdfast import clock
from holdfast.backends.redis import faults, greeting
from holdfast.backends.redis.target import Login, Target, Where
from holdfast.errors import BackendUnavailable

if TYPE_CHECKING:
    import ssl

CONNECT_LIMIT = 3.0
"""A host that is gone does not refuse: it stays silent."""

CHUNK = 16_384
SHORTEST = 0.001

ROUNDED = 1 / 64
"""Limits of a second and more are rounded up by as much, so that they are seldom set anew."""

NOTHING_YET = object()
LOADING = b"*3\r\n$6\r\nSCRIPT"
"""How the command begins that makes a script known."""


KEEPALIVE = (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3))
"""A peer that vanished without a word is noticed in about six seconds, also by who only listens."""


class Link:
    """A connection that was let in."""

    __slots__ = (
        "_enough",
        "_limit",
        "_reader",
        "_socket",
        "generation",
        "held_until",
        "protocol",
        "pushes",
        "shown",
        "used_at",
        "where",
    )

    def __init__(self, sock: socket.socket, where: Where, shown: str) -> None:
        self._socket = sock
        self._reader = Reader(notEnoughData=NOTHING_YET)
        self._limit = inf  # what the kernel was told
        self._enough = inf  # it does for all that may take no less than this
        self.where = where
        self.shown = shown
        self.protocol = 3
        self.generation = 0
        self.held_until = 0.0  # in Cluster: until then its node must not grant anything
        self.pushes: list[Any] = []  # what came unasked, in RESP3
        self.used_at = 0.0

    def exchange(self, data: bytes, count: int, deadline: float) -> list[Any]:
        """Send, then read ``count`` replies; an error of the server is a value among them."""
        self.send(data, deadline)
        return [self.read(deadline) for _ in range(count)]

    def ask(self, data: bytes, now: float, deadline: float) -> Any:
        """Send one command and read its reply: like ``exchange``, with nothing in between."""
        left = deadline - now
        if not self._limit >= left >= self._enough:
            self._allow(left)
        self.used_at = now
        try:
            self._socket.sendall(data)
            arrived = self._socket.recv(CHUNK)
            self._reader.feed(arrived)
            reply = self._reader.gets()
        except OSError as error:
            raise self._failed(error) from error
        except HiredisError as error:
            raise faults.foreign(self.shown, error) from error
        if reply is NOTHING_YET:  # also when nothing arrived: the server hung up
            return self.read(deadline)
        if isinstance(reply, PushNotification):
            self.pushes.append(reply)
            return self.read(deadline)
        return reply

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of it."""
        now = self.used_at = clock.now()
        self._allow(deadline - now)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._failed(error) from error

    def read(self, deadline: float) -> Any:
        """Read the next reply; pushes on the way to it are put aside."""
        reply = self.read_anything(deadline)
        while isinstance(reply, PushNotification):
            self.pushes.append(reply)
            reply = self.read_anything(deadline)
        return reply

    def read_anything(self, deadline: float) -> Any:
        """Read what comes next, asked for or not."""
        reply = self._next()
        while reply is NOTHING_YET:
            self._fill(deadline)
            reply = self._next()
        return reply

    def _next(self) -> Any:
        try:
            return self._reader.gets()
        except HiredisError as error:
            raise faults.foreign(self.shown, error) from error

    def read_pushes(self) -> list[Any]:
        """Give what came unasked, without waiting for it: another thread may have been first."""
        sock = self._socket
        if not hasattr(sock, "pending"):
            try:
                data = sock.recv(CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return self.put_aside()
            except OSError as error:
                raise self._failed(error) from error
            self._feed(data)
        elif self.has_something():  # TLS cannot be asked for what is there, and reads ahead
            self._fill(clock.now() + SHORTEST)
            while sock.pending():
                self._fill(clock.now() + SHORTEST)
        return self.put_aside()

    def put_aside(self) -> list[Any]:
        """Give what came unasked and was read already, also behind the last reply."""
        reply = self._next()
        while reply is not NOTHING_YET:
            self.pushes.append(reply)
            reply = self._next()
        pushes, self.pushes = self.pushes, []
        return pushes

    def fileno(self) -> int:
        """Give the descriptor to wait on."""
        return self._socket.fileno()

    def has_something(self) -> bool:
        """Whether there is something to read: a push, or the end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _fill(self, deadline: float) -> None:
        self._allow(deadline - clock.now())
        try:
            data = self._socket.recv(CHUNK)
        except OSError as error:
            raise self._failed(error) from error
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        if not data:
            raise faults.broken(self.shown, "the server hung up")
        self._reader.feed(data)

    def _allow(self, left: float) -> None:
        """Let the kernel end the next call after so many seconds."""
        if self._limit >= left >= self._enough:
            return  # as good as the same: most calls have the same limit
        if left < 1:
            self._limit = max(left, SHORTEST)
            self._enough = self._limit - SHORTEST
        else:
            self._limit = ceil(left / ROUNDED) * ROUNDED
            self._enough = self._limit - 2 * ROUNDED
        if hasattr(self._socket, "context"):  # TLS has its own way of waiting
            self._socket.settimeout(self._limit)
            return
        span = struct.pack("ll", int(self._limit), int(self._limit % 1 * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, span)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, span)

    def _failed(self, error: OSError) -> BackendUnavailable:
        if isinstance(error, (BlockingIOError, TimeoutError)):
            return faults.silent(self.shown)
        return faults.broken(self.shown, error.strerror or str(error))


def open_link(target: Target, where: Where, deadline: float, *, login: Login | None = None) -> Link:
    """Connect and be let in; ``login`` is another one than the target's, for sentinels."""
    deadline = min(deadline, clock.now() + CONNECT_LIMIT)
    protocol = target.protocol
    database = target.database if login is None else 0
    identity = target.login() if login is None else login
    while True:
        link = Link(_dial(target, where, deadline), where, target.shown)
        try:
            words = greeting.greeting(identity, database, protocol)
            replies = link.exchange(b"".join(words), len(words), deadline)
            if protocol == 3 and greeting.speaks_old(replies):  # noqa: PLR2004 - RESP3
                link.close()
                protocol = 2
                continue
            refusal = greeting.refusal(target, replies)
            if refusal is not None:
                raise refusal
        except BackendUnavailable as error:
            link.close()
            error.outcome = "none"  # nothing but a greeting was sent
            raise
        except BaseException:
            link.close()
            raise
        link.protocol = protocol
        return link


def _dial(target: Target, where: Where, deadline: float) -> socket.socket:
    host, port = where
    left = max(deadline - clock.now(), SHORTEST)
    try:
        if not port:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(left)
            sock.connect(host)
        else:
            sock = socket.create_connection(where, left)
            tune(sock)
            if target.tls is not None:
                sock = _encrypted(target.tls, sock, host)
    except OSError as error:
        raise faults.unreachable(target.shown, error) from error
    sock.settimeout(None)
    return sock


def _encrypted(context: ssl.SSLContext, sock: socket.socket, host: str) -> socket.socket:
    try:
        return context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def tune(sock: socket.socket) -> None:
    """Send at once, and notice a peer that is gone."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
