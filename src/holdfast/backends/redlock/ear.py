"""The keeper's wire and its ear: a client's inbox, heard on the keeper's own connections.

The inbox is open on every server that can be reached; a notice from any of them will do. What was
missed costs at most a pause between two tries; whoever rests when an inbox opens tries at once.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress

from holdfast import clock
from holdfast.backends.redis.inboxes import MISSED
from holdfast.backends.redis.replies import read_notice
from holdfast.backends.redis.requests import command
from holdfast.backends.redlock.bundle import Bundle
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.sync import SyncWire, look_after
from holdfast.backends.waking import LONGEST, PipedEar
from holdfast.rules.messages import Notice

CONNECT_WITHIN = 0.5
LOOK_EVERY = 1.0
"""How often the keeper looks whether a server is back, while it has something to keep."""


class KeeperWire(SyncWire):
    """Like every wire for threads, with one thread and one bundle, and with the inbox on it."""

    def __init__(self, council: Council) -> None:
        super().__init__(council)
        self.bundle = Bundle(council)
        self.greeting = b""

    def _borrow(self) -> Bundle:
        return self.bundle

    def _give_back(self, bundle: Bundle) -> None:
        """Keep it: it is the only one."""

    def connect(self, deadline: float) -> None:
        """Open the inbox on every server that answers."""
        for node in self.council.nodes:
            if node.fault and node.begin_probe():
                look_after(node)
        self.bundle.connect(deadline, self.greeting)

    def _prepare(self, bundle: Bundle, deadline: float) -> None:
        self.connect(deadline)
        super()._prepare(bundle, deadline)

    def close(self) -> None:
        """Hang up everywhere."""
        self._closed = True
        self.bundle.close()

    abandon = close


class Ear(PipedEar):
    """The inbox of one client: as on one server, but listening to all of them."""

    def __init__(self, wire: KeeperWire, address: str) -> None:
        super().__init__()
        self._address = address
        self._quorum = wire
        wire.greeting = command("SUBSCRIBE", address)

    @property
    def address(self) -> str:
        """The channel; nobody is passed over for not listening, since there is no queue."""
        return self._address

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is heard, until woken, or until ``until``."""
        wire = self._quorum
        wire.connect(min(until, clock.now() + CONNECT_WITHIN))
        if any(node.fault for node in wire.council.nodes):
            until = min(until, clock.now() + LOOK_EVERY)
        if not wire.bundle.pushes:
            self._wait(until)
        pushes, wire.bundle.pushes = wire.bundle.pushes, []
        return notices(self._address, pushes)

    def _wait(self, until: float) -> None:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        for descriptor in self._quorum.bundle.descriptors():
            poll.register(descriptor, select.POLLIN)
        delay = min(max(0.0, until - clock.now()), LONGEST)
        for descriptor, _ in poll.poll(delay * 1000 + 0.999):
            if descriptor == self._bell:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
            else:
                self._quorum.bundle.hear(descriptor)


def notices(address: str, pushes: Sequence[object]) -> list[Notice]:
    """Read what came to the inbox; where it was just opened, something may have been missed."""
    found: list[Notice] = []
    for push in pushes:
        if isinstance(push, list) and push[0] == b"subscribe":
            found.append(MISSED)
        elif isinstance(push, list) and len(push) == 3 and push[0] == b"message":  # noqa: PLR2004
            notice = read_notice(address, push[2])
            if notice is not None:
                found.append(notice)
    return found
