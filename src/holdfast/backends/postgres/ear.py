"""The keeper's own connection, and the inbox that is heard on the same one (``inbox``).

The keeper hears it when nobody waits in line, else a thread that waits does (``shared_ear``).
Whenever the inbox was deaf, or is heard for the first time, the keeper is told that it may have
missed something, and asks. Behind a pooler nobody can listen: then the keeper's look once a second
serves instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from math import inf

from holdfast import clock
from holdfast.backends.postgres.inbox import Inbox
from holdfast.backends.postgres.link import Link
from holdfast.backends.postgres.office import Office, listening_words
from holdfast.backends.postgres.sync import LOOK_AFTER, SyncWire
from holdfast.backends.shared_ear import SharedEar
from holdfast.backends.waking import LONGEST
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import Item, Notice, Renew

CONNECT_WITHIN = 0.5
"""A silent host must not keep the keeper from its leases."""

MISSED = Notice("missed", "", "", "", 0)
OPENED = Notice("opened", "", "", "", 0)

NOBODY = Renew("", (Item("", 0, 0.0),))
"""A renewal of what cannot exist: no name is empty."""


class KeeperWire(SyncWire):
    """Like every wire for threads, with one thread only, and with the inbox on it."""

    def __init__(self, office: Office, application: str) -> None:
        super().__init__(office, application)
        self.channel = ""  # what to listen to, once there is an ear
        self.inbox: Inbox | None = None
        self._heard = False  # at any time
        self.pending: list[Notice] = []  # what the keeper itself has heard
        self.stir: Callable[[], None] = lambda: None  # who listens should see what there is

    @property
    def hears(self) -> bool:
        """Whether the inbox is open: a call that failed may just have closed it."""
        inbox = self.inbox
        return inbox is not None and inbox.fileno() >= 0

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
            # So far every claim had an address with a question mark, and nobody passes that over.
            self.pending.append(MISSED if self._heard else OPENED)
            self._heard = True
            self.inbox = Inbox(link)
            self.stir()
        return link

    def borrow(self, deadline: float) -> Link:
        """Take the inbox's own connection, if there is one."""
        inbox = self._taken()
        if inbox is not None:
            link = inbox.link
            rested = clock.now() - link.used_at
            fresh = link.generation == self._office.generation
            if fresh and (rested < LOOK_AFTER or not link.has_something() or self._read(inbox)):
                return link
            self.discard(link)
        return super().borrow(deadline)

    def give_back(self, link: Link) -> None:
        """Keep it, and put aside what came unasked."""
        inbox = self.inbox
        if inbox is None or inbox.link is not link:
            super().give_back(link)
            return
        try:
            self.pending += inbox.put_aside()
        finally:
            inbox.let_go()

    def discard(self, link: Link) -> None:
        """Throw away what is ours at the moment."""
        inbox = self.inbox
        if inbox is None or inbox.link is not link:
            super().discard(link)
            return
        self.inbox = None
        inbox.close()
        self.stir()

    def read(self) -> None:
        """Read what came to the inbox, on the keeper's thread."""
        inbox = self._taken()
        if inbox is None:
            return
        if self._read(inbox):
            inbox.let_go()
        else:
            self.discard(inbox.link)

    def _taken(self) -> Inbox | None:
        """Have the inbox for oneself; one that is no good any more is forgotten."""
        inbox = self.inbox
        if inbox is None or inbox.take():
            return inbox
        self.inbox = None
        return None

    def _read(self, inbox: Inbox) -> bool:
        """Read an inbox that we have; say whether that was not the end of it."""
        try:
            self.pending += inbox.read()
        except BackendUnavailable:
            return False
        return True

    def close(self) -> None:
        """Let go of every connection."""
        super().close()
        inbox = self._taken()
        if inbox is not None:
            self.discard(inbox.link)

    abandon = close

    def be_ready(self, deadline: float) -> None:
        """Connect before anything is due, and listen, if that is done here."""
        if not (self.hears if self.channel else self._idle):
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


class Ear(SharedEar):
    """The inbox of one client, heard by its keeper or by a thread that waits."""

    def __init__(self, wire: KeeperWire, address: str, deliver: Callable[[Notice], None]) -> None:
        super().__init__()
        self._wire = wire
        self._deliver = deliver
        wire.channel = address
        wire.stir = self._lookout.stir
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
        while not wire.pending and self._was_relieved(until):
            continue
        pending, wire.pending = wire.pending, []
        return pending

    # What the lookout asks for

    def descriptors(self) -> Collection[int]:
        """Say where something can be heard."""
        inbox = self._wire.inbox
        descriptor = -1 if inbox is None else inbox.fileno()
        return () if descriptor < 0 else (descriptor,)

    def overhear(self, ready: Sequence[int], until: float) -> None:
        """Read what has arrived and deliver it, on the thread of one who waits."""
        left = until - clock.now()
        inbox = self._wire.inbox
        if left <= 0 or inbox is None or inbox.fileno() not in ready:
            return
        inbox.overhear(min(left, LONGEST), self._deliver)
        if inbox.fileno() < 0:
            self.wake()  # the keeper connects again

    def _read(self, _ready: Collection[int]) -> None:
        self._wire.read()
