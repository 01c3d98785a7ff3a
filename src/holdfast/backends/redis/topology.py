"""Where the truth lives now: one server, the master that sentinels name, or a cluster's slots.

``known`` answers from memory; ``find`` asks, blocking, so tasks call it in a thread. After a sign
that the truth has moved, ``suspect`` makes the next caller look again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Protocol

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.keys import SLOTS
from holdfast.backends.redis.link import Link, open_link
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Target, Where
from holdfast.errors import BackendUnavailable

ONE_LOOK = 1.0
"""How long one of several who could tell is waited for."""


class Topology(Protocol):
    """Which server has a slot; without a cluster one server has them all."""

    def known(self, slot: int) -> Where | None:
        """Give the server, if it is known."""
        ...

    def masters(self) -> tuple[Where, ...]:
        """Give all servers that are known."""
        ...

    def find(self, deadline: float) -> None:
        """Find out; blocks, and raises ``BackendUnavailable`` if nobody can tell."""
        ...

    def suspect(self) -> None:
        """Forget what is known: it may be out of date."""
        ...

    def start_anew(self) -> None:
        """Begin, perhaps in a forked child: another thread may have been at it, in the parent."""
        ...


def topology_of(target: Target) -> Topology:
    """Choose by the kind of target."""
    if target.mode == "single":
        return Fixed(target.seeds[0])
    return Sentinels(target) if target.mode == "sentinel" else ClusterMap(target)


class Fixed:
    """One server, always the same."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def start_anew(self) -> None:
        """Nobody waits for anything here."""

    def known(self, slot: int) -> Where | None:  # noqa: ARG002 - the port's shape
        """Give the server."""
        return self._where

    def masters(self) -> tuple[Where, ...]:
        """Give the server."""
        return (self._where,)

    def find(self, deadline: float) -> None:
        """Nothing to find out."""

    def suspect(self) -> None:
        """Nothing to forget."""


class Sentinels:
    """The master of one service, as its sentinels see it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._master: Where | None = None
        self._epoch = -1
        self._lock = threading.Lock()

    def start_anew(self) -> None:
        """Wait for no thread that only the parent has."""
        self._lock = threading.Lock()

    def known(self, slot: int) -> Where | None:  # noqa: ARG002 - the port's shape
        """Give the master."""
        return self._master

    def masters(self) -> tuple[Where, ...]:
        """Give the master."""
        return () if self._master is None else (self._master,)

    def suspect(self) -> None:
        """Forget the master."""
        self._master = None
        self._epoch = -1

    def find(self, deadline: float) -> None:
        """Ask all sentinels and believe the one whose news is the latest.

        After a fail-over the others still name the old master for a while, and it may still think
        that it is one.
        """
        with _within(self._lock, deadline):
            if self._master is not None:
                return  # another thread was quicker
            reason = "no sentinel was asked"
            for sentinel in self._target.seeds:
                left = (deadline - clock.now()) / len(self._target.seeds)
                by = clock.now() + min(left, ONE_LOOK)
                try:
                    link = self.call(sentinel, by)
                    try:
                        self.ask(link, by)
                    finally:
                        link.close()
                except BackendUnavailable as error:
                    reason = error.message
            if self._master is None:
                raise faults.no_master(self._target.shown, reason)

    def call(self, sentinel: Where, deadline: float) -> Link:
        """Connect to a sentinel."""
        return open_link(self._target, sentinel, deadline, login=self._target.sentinel_login())

    def ask(self, link: Link, deadline: float) -> None:
        """Ask a sentinel, and believe it unless another had later news."""
        question = command("SENTINEL", "MASTER", self._target.service)
        (reply,) = link.exchange(question, 1, deadline)
        if isinstance(reply, Exception):
            raise faults.refused(self._target.shown, str(reply))
        words = [*chain.from_iterable(reply.items())] if isinstance(reply, dict) else reply
        told = dict(zip(words[::2], words[1::2], strict=True))
        epoch = int(told[b"config-epoch"])
        if epoch > self._epoch or self._master is None:
            self._master = told[b"ip"].decode(), int(told[b"port"])
            self._epoch = max(epoch, self._epoch)


class ClusterMap:
    """Which master has which slot, as the cluster's nodes tell it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._slots: list[Where | None] = []
        self._seeds = target.seeds
        self._told_by: Where | None = None
        self._lock = threading.Lock()

    def start_anew(self) -> None:
        """Wait for no thread that only the parent has."""
        self._lock = threading.Lock()

    def known(self, slot: int) -> Where | None:
        """Give the master of ``slot``."""
        return self._slots[slot] if self._slots else None

    def masters(self) -> tuple[Where, ...]:
        """Give all masters."""
        return tuple(dict.fromkeys(where for where in self._slots if where is not None))

    def slots_of(self, where: Where) -> frozenset[int]:
        """Give the slots that a master has."""
        return frozenset(slot for slot, master in enumerate(self._slots) if master == where)

    def suspect(self) -> None:
        """Forget who has what, but not whom to ask; whoever told it is asked last."""
        known = dict.fromkeys((*self.masters(), *self._target.seeds))
        self._seeds = tuple(sorted(known, key=lambda where: where == self._told_by))
        self._slots = []

    def moved(self, slot: int, where: Where) -> None:
        """Take a redirection's word for one slot of a map; one slot alone does not make a map."""
        slots = self._slots
        if slots:
            slots[slot] = where

    def find(self, deadline: float) -> None:
        """Ask one node after the other."""
        with _within(self._lock, deadline):
            reason = "no node was asked"
            for seed in self._seeds:
                if self._slots or clock.now() >= deadline:
                    break
                try:
                    self._slots, self._told_by = self._ask(seed, deadline), seed
                except BackendUnavailable as error:
                    reason = error.message
            if not self._slots:
                raise faults.no_master(self._target.shown, reason)

    def _ask(self, seed: Where, deadline: float) -> list[Where | None]:
        deadline = min(deadline, clock.now() + ONE_LOOK)
        link = open_link(self._target, seed, deadline)
        try:
            (reply,) = link.exchange(command("CLUSTER", "SLOTS"), 1, deadline)
        finally:
            link.close()
        if isinstance(reply, Exception):
            raise faults.refused(self._target.shown, str(reply))
        return _slots(reply, seed[0])


@contextmanager
def _within(lock: threading.Lock, deadline: float) -> Iterator[None]:
    """Let one thread look for all; whoever comes later waits for what it finds, not for ever."""
    if not lock.acquire(timeout=max(0.0, deadline - clock.now())):
        raise faults.late()
    try:
        yield
    finally:
        lock.release()


def _slots(reply: list[Any], host: str) -> list[Where | None]:
    slots: list[Where | None] = [None] * SLOTS
    for first, last, master, *_ in reply:
        named = master[0].decode() if master[0] else host  # a node that does not know its own name
        where = (named, master[1])
        for slot in range(first, last + 1):
            slots[slot] = where
    return slots


def redirected(text: str, came_from: Where) -> tuple[int, Where]:
    """Read ``MOVED 3999 host:port`` or ``ASK …``; an empty host is the one that was asked."""
    _, slot, place = text.split(" ")
    host, _, port = place.rpartition(":")
    return int(slot), (host.strip("[]") or came_from[0], int(port))
