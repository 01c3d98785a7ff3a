"""The keeper's own connection to each server, and the inbox that is heard on the same one.

In RESP3 notices come between the replies of the connection that the keeper asks on. Where only
RESP2 is spoken, the inbox has a connection of its own. Whenever the inbox was deaf, or is heard for
the first time, the keeper is told that it may have missed something, and asks.

A thread that waits in line may read the inbox too (``backends.lookout``). So whoever uses these
connections does it alone: the keeper for a whole exchange, the others for one look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast import clock
from holdfast.backends.redis.link import Link, open_link
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.replies import read_notice
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.stack import Stack
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Notice

MISSED = Notice("missed", "", "", "", 0)
OPENED = Notice("opened", "", "", "", 0)

STUCK = 0.1
"""A look takes microseconds: whoever takes so long was torn away in the middle of it."""


class Inboxes(Stack):
    """The connections of a keeper: one to each server, and somebody listens on them."""

    def __init__(self, office: Office) -> None:
        super().__init__(office)
        self.waits_for_replicas = bool(office.target.replicas)
        self.channel = ""  # what to subscribe to, once there is an ear
        self.listening: dict[Where, Link] = {}
        self.hears_all = False  # on every server that there is
        self._heard_all = False  # at any time
        self.pending: list[Notice] = []
        self.stir: Callable[[], None] = lambda: None  # who listens should see what there is
        self._using = threading.RLock()  # of all locks the one that knows whose it is
        self._torn: Link | None = None  # what is being read: if it stays so, nobody knows how far

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let the keeper use its connections; who holds it up for too long has lost them."""
        using = self._using
        if not using.acquire(timeout=STUCK):
            self._using = using = threading.RLock()
            using.acquire()
            for link in tuple(self.listening.values()):
                self.drop(link)
        try:
            self._drop_torn()
            yield
        finally:
            using.release()

    def overhear(self, ready: Collection[int], limit: float) -> list[Notice]:
        """Read what has come to the descriptors that are ``ready``, on the thread of a caller.

        That thread may be interrupted anywhere, so it must not be believed to have finished.
        """
        using = self._using
        try:
            if not using.acquire(timeout=limit):
                return []
            if self._torn is not None:
                self._drop_torn()
            self.read(ready)
            pending, self.pending = self.pending, []
            return pending
        finally:
            try:  # noqa: SIM105 - a caller waits for this, and suppress takes three calls
                using.release()
            except RuntimeError:  # it was never ours
                pass

    def read(self, ready: Collection[int]) -> None:
        """Read the inboxes that are ``ready``; one that fails is thrown away."""
        for link in tuple(self.listening.values()):
            if link.fileno() in ready:
                self._torn = link
                try:
                    self.take_in(link.read_pushes())
                except BackendUnavailable:
                    self.drop(link)
                self._torn = None

    def taken(self) -> list[Notice]:
        """Give what was put aside."""
        pending, self.pending = self.pending, []
        return pending

    def _drop_torn(self) -> None:
        """Throw away what somebody did not finish reading: a part of it may be lost."""
        torn, self._torn = self._torn, None
        if torn is not None:
            self.drop(torn)

    def _open(self, where: Where, deadline: float) -> Link:
        link = super()._open(where, deadline)
        if self.channel and link.protocol == 3:  # noqa: PLR2004 - RESP3
            self.subscribe(link, deadline)
        return link

    def subscribe(self, link: Link, deadline: float) -> None:
        """Make ``link`` an inbox; what was said before that is lost."""
        try:
            link.send(command("SUBSCRIBE", self.channel), deadline)
            reply = link.read_anything(deadline)
        except BaseException:
            self.drop(link)
            raise
        if isinstance(reply, Exception):
            complain(self._office.shown, str(reply))
            self.channel = ""
            return
        self.listening[link.where] = link
        # So far every claim had an address with a question mark, and nobody passes that over.
        self.pending.append(MISSED if self._heard_all else OPENED)
        self.stir()

    def give_back(self, link: Link) -> None:
        """Take a connection back, and with it what came unasked."""
        super().give_back(link)
        if self.listening.get(link.where) is link:
            self.take_in(link.put_aside())

    def take_in(self, pushes: Sequence[Any]) -> None:
        """Put aside what came unasked."""
        for push in pushes:
            if len(push) == 3 and push[0] == b"message":  # noqa: PLR2004 - kind, channel, payload
                notice = read_notice(self.channel, push[2])
                if notice is not None:
                    known = unconfirmed(notice) if self.waits_for_replicas else notice
                    self.pending.append(known)

    def is_listening(self) -> bool:
        """Whether every server has an open inbox: a call that failed may just have closed one."""
        if not self.hears_all:
            return False
        for link in tuple(self.listening.values()):  # noqa: SIM110 - every claim asks: it costs half
            if link.fileno() < 0:
                return False
        return True

    def drop(self, link: Link) -> None:
        """Throw a broken inbox away."""
        self.listening.pop(link.where, None)
        self.hears_all = False
        links = self._idle.get(link.where, [])
        if link in links:
            links.remove(link)
        link.close()
        self.stir()

    def connect_inboxes(self, deadline: float) -> None:
        """Listen on every server there is."""
        for where in self.everywhere(deadline):
            listening = self.listening.get(where)
            if listening is not None and listening.fileno() >= 0:
                continue
            link = self.borrow(where, clock.now(), deadline)
            self.give_back(link)
            if self.listening.get(where) is link or not self.channel:
                continue
            if link.protocol == 2:  # noqa: PLR2004 - RESP2 hears on a connection of its own
                link = open_link(self._office.target, where, deadline)
            self.subscribe(link, deadline)
        self.hears_all = self._heard_all = True

    def _is_good(self, link: Link) -> bool:
        if self.listening.get(link.where) is not link or link.protocol == 2:  # noqa: PLR2004
            return super()._is_good(link)
        if link.has_something():
            try:
                self.take_in(link.read_pushes())
            except BackendUnavailable:
                self.drop(link)
                return False
        return True

    def close(self) -> None:
        """Hang up everywhere."""
        super().close()
        for link in tuple(self.listening.values()):
            link.close()
        self.listening.clear()

    def check_births(self, deadline: float) -> None:
        """In Cluster: ask each node whether it still has its memory."""
        for links in tuple(self._idle.values()):
            for link in tuple(links):
                self._check_birth(link, deadline)

    def _check_birth(self, link: Link, deadline: float) -> None:
        try:
            self.ask_birth(link, deadline)
        except BackendUnavailable:
            self.drop(link)  # the next batch finds out what is wrong
        except BaseException:
            self.drop(link)
            raise


def unconfirmed(notice: Notice) -> Notice:
    """With ``replicas=N`` nothing starts under a grant before the replicas have it."""
    return notice._replace(life=0.0)


def complain(shown: str, text: str) -> None:
    """Say that the server lets nobody listen."""
    from holdfast.observe.logs import logger

    logger.warning(
        "%s: this user may not listen on a channel (%s), so waiters are woken by a look once a"
        " second; the Redis page of the docs lists the channels that holdfast needs",
        shown,
        text,
    )
