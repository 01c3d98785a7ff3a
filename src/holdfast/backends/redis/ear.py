"""The keeper's own connection to each server, and the inbox that it hears on the same one.

In RESP3 notices come between the replies of the connection that the keeper asks on. Where only
RESP2 is spoken, the inbox has a connection of its own. Whenever the inbox was deaf, the keeper is
told that it may have missed something, and asks.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from typing import Any

from holdfast import clock
from holdfast.backends.redis.link import Link, open_link
from holdfast.backends.redis.office import Answer, Office
from holdfast.backends.redis.replies import read_notice
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.sync import SyncWire
from holdfast.backends.redis.target import Where
from holdfast.backends.redis.topology import Sentinels
from holdfast.backends.redis.watch import SentinelWatch
from holdfast.backends.waking import LONGEST
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import Notice, Request

CONNECT_WITHIN = 0.5
"""A silent host must not keep the keeper from its leases."""

MISSED = Notice("missed", "", "", "", 0)


class KeeperWire(SyncWire):
    """Like every wire for threads, with one thread only, and with the inbox on it."""

    def __init__(self, office: Office) -> None:
        super().__init__(office)
        self.waits_for_replicas = bool(office.target.replicas)
        self.channel = ""  # what to subscribe to, once there is an ear
        self.listening: dict[Where, Link] = {}
        self.hears_all = False  # on every server that there is
        self.pending: list[Notice] = []
        sentinels = office.topology if isinstance(office.topology, Sentinels) else None
        self._watch = SentinelWatch(office.target, sentinels) if sentinels else None

    def _open(self, where: Where, deadline: float) -> Link:
        link = super()._open(where, deadline)
        if self.channel and link.protocol == 3:  # noqa: PLR2004 - RESP3
            self.subscribe(link, deadline)
        return link

    def _carry_out(self, requests: Sequence[Request], deadline: float) -> list[Answer]:
        """Like any batch; in Cluster each node is also asked whether it still has its memory."""
        answers = super()._carry_out(requests, deadline)
        if self._office.clustered:
            for links in tuple(self._idle.values()):
                for link in tuple(links):
                    self._check_birth(link, deadline)
        return answers

    def _check_birth(self, link: Link, deadline: float) -> None:
        try:
            self._ask_birth(link, deadline)
        except BackendUnavailable:
            self.drop(link)  # the next batch finds out what is wrong
        except BaseException:
            self.drop(link)
            raise

    def look_around(self, until: float) -> float:
        """Ask the sentinels while there is something to keep; say when to come back."""
        if self._watch is None or until == inf:
            return until
        return min(until, self._watch.look())

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
        self.pending.append(MISSED)

    def _give_back(self, link: Link) -> None:
        super()._give_back(link)
        self.take_in(link.pushes)
        link.pushes = []

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
        return self.hears_all and all(one.fileno() >= 0 for one in tuple(self.listening.values()))

    def drop(self, link: Link) -> None:
        """Throw a broken inbox away."""
        self.listening.pop(link.where, None)
        self.hears_all = False
        links = self._idle.get(link.where, [])
        if link in links:
            links.remove(link)
        link.close()

    def connect_inboxes(self, deadline: float) -> None:
        """Listen on every server there is."""
        self._where(0, deadline)
        for where in self._office.topology.masters():
            listening = self.listening.get(where)
            if listening is not None and listening.fileno() >= 0:
                continue
            link = self._borrow(where, clock.now(), deadline)
            self._give_back(link)
            if self.listening.get(where) is link or not self.channel:
                continue
            if link.protocol == 2:  # noqa: PLR2004 - RESP2 hears on a connection of its own
                link = open_link(self._office.target, where, deadline)
            self.subscribe(link, deadline)
        self.hears_all = True

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
        if self._watch is not None:
            self._watch.close()
        for link in tuple(self.listening.values()):
            link.close()
        self.listening.clear()


class Ear:
    """The inbox of one client, heard by its keeper on the keeper's own connections."""

    def __init__(self, wire: KeeperWire, address: str) -> None:
        self._wire = wire
        wire.channel = address
        self._bell, self._clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._clapper, False)
        self._failures = 0
        self._again_at = 0.0

    @property
    def address(self) -> str:
        """The channel; with a question mark while nobody listens there yet, so nobody is sure."""
        wire = self._wire
        return wire.channel if wire.is_listening() or not wire.channel else f"{wire.channel}?"

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is heard, until woken, or until ``until``."""
        wire = self._wire
        until = wire.look_around(until)
        if until < inf and wire.channel:
            until = min(until, self._connected(until))
        if not wire.pending:
            self._wait(until)
        pending, wire.pending = wire.pending, []
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
            self._wire.connect_inboxes(min(until, now + CONNECT_WITHIN))
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
        heard = {link.fileno(): link for link in self._wire.listening.values()}
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
                self._wire.take_in(link.read_pushes())
            except BackendUnavailable:
                self._wire.drop(link)


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
