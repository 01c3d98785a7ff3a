"""Who listens while threads wait in line: one of them, in the keeper's place.

A notice then wakes the thread that it is for, and no other thread before it; on the way of a
hand-over each wake-up costs as much as the network (decision 0027). The thread on the lookout reads
the inbox for everybody. Who leaves calls the one that has waited longest, since that is whom the
next notice is most likely for; if nobody else waits, the keeper listens again.

Nothing is lost if it goes wrong: who was interrupted while on the lookout is missed by the keeper,
which then listens itself, and a notice that nobody heard costs a second, as everywhere.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from math import inf
from typing import Protocol

from holdfast import clock
from holdfast.backends.waking import LONGEST

OVERDUE = 1.0
"""Who is on the lookout for so much longer than it wanted to wait is not there any more."""


class Inbox(Protocol):
    """What is listened to."""

    def descriptors(self) -> Collection[int]:
        """Say where something can be heard."""
        ...

    def overhear(self, ready: Sequence[int], until: float) -> None:
        """Read what has arrived there and deliver it; at ``until`` at the latest give up."""
        ...

    def relieve(self) -> None:
        """Let the keeper see that somebody else listens now, or nobody any more."""
        ...


class WaitersBell:
    """The bell of a thread that waits in line, and listens meanwhile if nobody else does."""

    __slots__ = ("_lookout", "hears", "lock", "rung", "until")

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout
        self.rung = False
        self.hears = False  # it is busy with what was heard, and looks next whether it was rung
        self.until = 0.0
        self.lock = threading.Lock()  # what it sleeps on in line
        self.lock.acquire()

    def ring(self) -> None:
        """Wake the waiting thread; rung twice is rung once."""
        self.rung = True
        self.stir()
        self._lookout.call(self)

    def stir(self) -> None:
        """Let it see what has changed, if it sleeps in line."""
        try:
            self.lock.release()
        except RuntimeError:  # it was stirred before and has not looked since
            return

    async def wait(self, until: float) -> None:
        """Block until rung, or until ``until``."""
        self._lookout.wait(self, until)


class Lookout:
    """One post, and those who wait in line for it."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._post: dict[str, WaitersBell | None] = {}  # whoever gets in first has it
        self._line: dict[WaitersBell, None] = {}
        self._ear, self._horn = socket.socketpair()
        self._ear.setblocking(False)
        self._horn.setblocking(False)
        self._closed = False
        self.came_at = -inf  # when somebody came here last

    def bell(self) -> WaitersBell:
        """Make a bell for the thread that is running."""
        return WaitersBell(self)

    def is_manned(self) -> bool:
        """Whether somebody listens; one who should be back long ago is struck off."""
        bell = self._post.get("")
        if bell is None:
            return False
        if clock.now() < bell.until + OVERDUE:
            return True
        self._post.pop("", None)
        return False

    def stir(self) -> None:
        """Let whoever is on the lookout look again what there is to listen to."""
        if self._post:
            self._blow()

    def call(self, bell: WaitersBell) -> None:
        """Get ``bell``'s thread out of its sleep, if it sleeps on the lookout."""
        if self._post.get("") is bell and not bell.hears:
            self._blow()

    def wait(self, bell: WaitersBell, until: float) -> None:
        """Sleep until rung or until ``until``: on the lookout, if nobody else is there."""
        bell.until = until
        line, post = self._line, self._post
        try:
            line[bell] = None  # before the look: who leaves the post looks here after leaving it
            while not bell.rung:
                if post.setdefault("", bell) is bell:
                    line.pop(bell, None)
                    self._look_out(bell, until)
                    return
                if not bell.lock.acquire(timeout=min(max(0.0, until - clock.now()), LONGEST)):
                    return
        finally:
            bell.rung = False
            line.pop(bell, None)
            if post.get("") is bell:
                post.pop("", None)
            if "" not in post:
                self._pass_on()

    def close(self) -> None:
        """Nobody listens from now on; who is still on the lookout closes when it leaves."""
        self._closed = True
        if self._post.setdefault("", None) is None:
            self.forget()
        else:
            self._blow()

    def forget(self) -> None:
        """Close the pipe: where nobody is on the lookout, or in a forked child."""
        self._ear.close()
        self._horn.close()

    def _look_out(self, bell: WaitersBell, until: float) -> None:
        inbox, ear = self._inbox, self._ear
        self.came_at = clock.now()
        inbox.relieve()
        while not bell.rung and not self._closed:
            left = until - clock.now()
            if left <= 0:
                return
            poll = select.poll()
            poll.register(ear, select.POLLIN)
            for descriptor in inbox.descriptors():
                poll.register(descriptor, select.POLLIN)
            ready = [heard for heard, _ in poll.poll(min(left, LONGEST) * 1000 + 0.999)]
            bell.hears = True
            try:
                if ear.fileno() in ready:
                    ready.remove(ear.fileno())
                    _drain(ear)
                if ready:
                    inbox.overhear(ready, until)
            finally:
                bell.hears = False

    def _pass_on(self) -> None:
        """Call the next one to the post, which is empty; who was rung meanwhile passes it on."""
        if self._closed:
            self.close()
            return
        for bell in tuple(self._line)[:1]:
            bell.stir()  # it finds the post empty, and takes it
            return
        self._inbox.relieve()

    def _blow(self) -> None:
        with suppress(OSError):  # full is loud enough, and closed has nobody to wake
            self._horn.send(b"\0")


def _drain(ear: socket.socket) -> None:
    with suppress(BlockingIOError):
        ear.recv(4096)
