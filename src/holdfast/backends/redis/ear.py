"""The keeper's wire and its ear: a client's inbox, heard on the keeper's own connections."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress
from math import inf

from holdfast import clock
from holdfast.backends.redis.inboxes import Inboxes
from holdfast.backends.redis.office import Answer, Office
from holdfast.backends.redis.sync import SyncWire
from holdfast.backends.redis.topology import Sentinels
from holdfast.backends.redis.watch import SentinelWatch
from holdfast.backends.waking import LONGEST
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import Notice, Request

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


class Ear:
    """The inbox of one client, heard by its keeper on the keeper's own connections."""

    def __init__(self, wire: KeeperWire, address: str) -> None:
        self._wire = wire
        self._inboxes = wire.inboxes
        self._inboxes.channel = address
        self._bell, self._clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._clapper, False)
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
            until = min(until, self._connected(until))
        if not inboxes.pending:
            self._wait(until)
        pending, inboxes.pending = inboxes.pending, []
        return pending

    def wake(self) -> None:
        """Ring one's own bell; a full pipe is awake anyway."""
        with suppress(OSError):
            os.write(self._clapper, b"\0")

    def close(self) -> None:
        """Stop hearing; the wire hangs up."""
        self.forget()

    def forget(self) -> None:
        """Close the inherited pipe only."""
        bell, self._bell = self._bell, -1
        clapper, self._clapper = self._clapper, -1
        for end in (bell, clapper):
            if end >= 0:
                os.close(end)

    def lifeline(self) -> int | None:
        """Give none: a server cannot tell a dead client from a slow one before its lease ends."""
        return None

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

    def _wait(self, until: float) -> None:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        heard = {link.fileno(): link for link in self._inboxes.listening.values()}
        for descriptor in heard:
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        delay = min(max(0.0, until - clock.now()), LONGEST)
        for descriptor, _ in poll.poll(delay * 1000 + 0.999):
            if descriptor == self._bell:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
                continue
            link = heard[descriptor]
            try:
                self._inboxes.take_in(link.read_pushes())
            except BackendUnavailable:
                self._inboxes.drop(link)
