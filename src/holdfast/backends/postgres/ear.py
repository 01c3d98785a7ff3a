"""The keeper's own connection, and the inbox that it hears on the same one.

Whenever the inbox was deaf, the keeper is told that it may have missed something, and asks. Behind
a pooler nobody can listen: then the keeper's look once a second serves instead.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress
from math import inf

from holdfast import clock
from holdfast.backends.postgres.link import Link
from holdfast.backends.postgres.office import Office, listening_words
from holdfast.backends.postgres.replies import read_notice
from holdfast.backends.postgres.sync import SyncWire
from holdfast.backends.waking import LONGEST, PipedEar
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import Item, Notice, Renew

CONNECT_WITHIN = 0.5
"""A silent host must not keep the keeper from its leases."""

MISSED = Notice("missed", "", "", "", 0)

NOBODY = Renew("", (Item("", 0, 0.0),))
"""A renewal of what cannot exist: no name is empty."""


class KeeperWire(SyncWire):
    """Like every wire for threads, with one thread only, and with the inbox on it."""

    def __init__(self, office: Office, application: str) -> None:
        super().__init__(office, application)
        self.channel = ""  # what to listen to, once there is an ear
        self.listening: Link | None = None
        self.pending: list[Notice] = []

    @property
    def hears(self) -> bool:
        """Whether the inbox is open: a call that failed may just have closed it."""
        return self.listening is not None and self.listening.fileno() >= 0

    def _open(self, deadline: float) -> Link:
        link = super()._open(deadline)
        if not self._office.survey.push:
            self.channel = ""
        listens = bool(self.channel) and not self.hears
        try:
            if listens:
                link.query(listening_words(self.channel), deadline)
            # Asked once before it counts: a new session takes its time to learn a function.
            link.ask(self._office.post.statement(NOBODY), deadline)
        except BaseException as error:
            link.close()
            if isinstance(error, BackendUnavailable):
                error.outcome = "none"  # nothing of anybody's was sent
            raise
        if listens:
            self.listening = link
            self.pending.append(MISSED)
        return link

    def give_back(self, link: Link) -> None:
        """Keep it, and put aside what came unasked."""
        super().give_back(link)
        self.take_in(link)

    def take_in(self, link: Link) -> None:
        """Read the notices that a connection has put aside."""
        heard, link.heard = link.heard, []
        for channel, payload in heard:
            notice = read_notice(channel, payload)
            if notice is not None:
                self.pending.append(notice)

    def _is_good(self, link: Link) -> bool:
        if link is not self.listening:
            return super()._is_good(link)
        return not link.has_something() or self.read_pushes(link)

    def read_pushes(self, link: Link) -> bool:
        """Read what came to the inbox; if it was the end of it, say so."""
        try:
            link.take_in()
        except BackendUnavailable:
            self._drop(link)
            return False
        self.take_in(link)
        return True

    def _drop(self, link: Link) -> None:
        self.listening = None
        if link in self._idle:
            self._idle.remove(link)
        link.close()

    def be_ready(self, deadline: float) -> None:
        """Connect before anything is due, and listen, if that is done here."""
        if (self.channel and not self.hears) or not self._idle:
            self.give_back(self._open(deadline))


class Readiness:
    """Sees to it that the keeper is connected before its first lease is due."""

    def __init__(self, wire: KeeperWire) -> None:
        self._wire = wire
        self._failures = 0
        self._again_at = 0.0

    def see_to_it(self, until: float) -> float:
        """Connect what is not, if there is something to keep; say when to look again."""
        now = clock.now()
        if until == inf:
            return until
        if now < self._again_at:
            return min(until, self._again_at)
        try:
            self._wire.be_ready(min(until, now + CONNECT_WITHIN))
        except BackendUnavailable:
            dice = int.from_bytes(os.urandom(4)) / (1 << 32)
            self._again_at = clock.now() + backoff.pause(self._failures, dice)
            self._failures += 1
            return min(until, self._again_at)
        self._failures = 0
        return until


class Ear(PipedEar):
    """The inbox of one client, heard by its keeper on the keeper's own connection."""

    def __init__(self, wire: KeeperWire, address: str) -> None:
        super().__init__()
        self._wire = wire
        wire.channel = address
        self._readiness = Readiness(wire)

    @property
    def address(self) -> str:
        """The channel; with a question mark while nobody listens there yet, so nobody is sure."""
        wire = self._wire
        return wire.channel if wire.hears or not wire.channel else f"{wire.channel}?"

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is heard, until woken, or until ``until``."""
        wire = self._wire
        until = self._readiness.see_to_it(until)
        if not wire.pending:
            self._wait(until)
        pending, wire.pending = wire.pending, []
        return pending

    def _wait(self, until: float) -> None:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        link = self._wire.listening
        if link is not None and link.fileno() >= 0:
            poll.register(link.fileno(), select.POLLIN)
        delay = min(max(0.0, until - clock.now()), LONGEST)
        for descriptor, _ in poll.poll(delay * 1000 + 0.999):
            if descriptor == self._bell:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
            elif link is not None:
                self._wire.read_pushes(link)
