"""The keeper's wire and its ear: a client's inbox, heard on the keeper's own connections.

The keeper hears it when nobody waits in line, else a thread that waits does (``shared_ear``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from math import inf

from holdfast import clock
from holdfast.backends.redis.inboxes import Inboxes
from holdfast.backends.redis.office import Answer, Office
from holdfast.backends.redis.sync import SyncWire
from holdfast.backends.redis.topology import Sentinels
from holdfast.backends.redis.watch import SentinelWatch
from holdfast.backends.shared_ear import SharedEar
from holdfast.backends.waking import LONGEST
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import Notice, Reply, Request

CONNECT_WITHIN = 0.5
"""A silent host must not keep the keeper from its leases."""


class KeeperWire(SyncWire):
    """Like every wire for threads, with one thread only, and with the inbox on it."""

    def __init__(self, office: Office) -> None:
        self.inboxes = Inboxes(office)
        super().__init__(office, self.inboxes)
        sentinels = office.topology if isinstance(office.topology, Sentinels) else None
        self._watch = SentinelWatch(office.target, sentinels) if sentinels else None

    def close(self) -> None:
        """Hang up everywhere."""
        super().close()
        if self._watch is not None:
            self._watch.close()

    abandon = close

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request, while nobody else reads here."""
        with self.inboxes.alone():
            return await super().ask(request, deadline)

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, while nobody else reads here."""
        with self.inboxes.alone():
            return await super().ask_all(requests, deadline)

    def look_around(self, until: float) -> float:
        """Ask the sentinels while there is something to keep; say when to come back."""
        if self._watch is None or until == inf:
            return until
        return min(until, self._watch.look())

    def _carry_out(self, requests: Sequence[Request], deadline: float) -> list[Answer]:
        """Like any batch; in Cluster each node is also asked whether it still has its memory."""
        answers = super()._carry_out(requests, deadline)
        if self._office.clustered:
            self.inboxes.check_births(deadline)
        return answers


class Ear(SharedEar):
    """The inbox of one client, heard by its keeper or by a thread that waits."""

    def __init__(self, wire: KeeperWire, address: str, deliver: Callable[[Notice], None]) -> None:
        super().__init__()
        self._wire = wire
        self._inboxes = wire.inboxes
        self._inboxes.channel = address
        self._deliver = deliver
        self._inboxes.stir = self._lookout.stir
        self._failures = 0
        self._again_at = 0.0

    @property
    def address(self) -> str:
        """The channel; with a question mark while nobody listens there yet, so nobody is sure."""
        inboxes = self._inboxes
        channel = inboxes.channel
        return channel if inboxes.is_listening() or not channel else f"{channel}?"

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is heard, until woken, or until ``until``."""
        inboxes = self._inboxes
        until = self._wire.look_around(until)
        if until < inf and inboxes.channel:
            with inboxes.alone():
                until = min(until, self._connected(until))
        while not inboxes.pending and self._was_relieved(until):
            continue
        with inboxes.alone():
            return inboxes.taken()

    # What the lookout asks for

    def descriptors(self) -> Collection[int]:
        """Say where something can be heard."""
        found = [link.fileno() for link in tuple(self._inboxes.listening.values())]
        return [descriptor for descriptor in found if descriptor >= 0]

    def overhear(self, ready: Sequence[int], until: float) -> None:
        """Read what has arrived and deliver it, on the thread of one who waits."""
        left = until - clock.now()
        if left <= 0:
            return
        for notice in self._inboxes.overhear(ready, min(left, LONGEST)):
            self._deliver(notice)
        if not self._inboxes.hears_all:
            self.wake()  # the keeper connects again

    def _read(self, ready: Collection[int]) -> None:
        with self._inboxes.alone():
            self._inboxes.read(ready)

    def _connected(self, until: float) -> float:
        """Connect what is not; say when to try again, if it failed."""
        now = clock.now()
        if now < self._again_at:
            return self._again_at
        try:
            self._inboxes.connect_inboxes(min(until, now + CONNECT_WITHIN))
        except BackendUnavailable:
            dice = int.from_bytes(os.urandom(4)) / (1 << 32)
            self._again_at = clock.now() + backoff.pause(self._failures, dice)
            self._failures += 1
            return self._again_at
        self._failures = 0
        return until
