"""A stream of ours, written to by a thread at whatever speed its reader takes.

What is to be written waits here, so that who reads from a command never has to wait for who reads
from us. Its counterpart, which fills it, is ``capture``.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, however long it takes, also where somebody made writing non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()


class Outlet:
    """What is still to be written to a descriptor; ``on_end`` is called when nothing is left."""

    def __init__(self, descriptor: int, room: int, on_end: Callable[[], None]) -> None:
        self.ended = False
        self._descriptor = descriptor
        self._room = room
        self._on_end = on_end
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._more = True  # whether something may still come
        self._open = True
        self._bounded = True
        self._changed = threading.Condition()
        threading.Thread(target=self._turn, name="outlet", daemon=True).start()

    def put(self, chunk: bytes) -> None:
        """Let this be written after everything before it."""
        with self._changed:
            if self._open:
                self._chunks.append(chunk)
                self._size += len(chunk)
                self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Wait while more is to be written than there is room for."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < self._room or not self._bounded)

    def unbound(self) -> None:
        """Let nobody wait for room any more: little is still to come."""
        with self._changed:
            self._bounded = False
            self._changed.notify_all()

    def finish(self) -> None:
        """Nothing more will be put; what is here is still written."""
        with self._changed:
            self._more = False
            self._changed.notify_all()

    def _turn(self) -> None:
        while (chunk := self._next()) is not None:
            try:
                write_all(self._descriptor, chunk)
            except OSError:  # nobody reads it any more, or the disk is full
                self._discard()
        self.ended = True
        self._on_end()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._chunks or not self._more)
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._size -= len(chunk)
            self._changed.notify_all()
            return chunk

    def _discard(self) -> None:
        with self._changed:
            self._open = False
            self._chunks.clear()
            self._size = 0
            self._changed.notify_all()
