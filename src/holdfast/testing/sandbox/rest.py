"""Who of a sandbox's threads is at work, and who sleeps: so that a test can wait for their rest.

Two sorts of threads are watched. *Keepers*, one per client, are at work from the moment they are
woken until they sleep again. *Callers* are the user's own threads: at work while they are inside a
call of holdfast, and none of our business once they are back in the user's code. Nothing is guessed
from how long something takes.
"""

from __future__ import annotations

import sys
import threading
import time
from math import inf
from typing import NamedTuple

from holdfast.runtimes.step import run

LIMIT = 10.0
"""How long a sandbox may take, in real seconds, to come to rest; beyond it something is stuck."""

GLANCE = 0.001
"""How often to look, at least: a thread gives no sign when it leaves holdfast."""


class Alarm:
    """What one thread sleeps on. Rung twice is rung once.

    Ringing takes no lock that anybody holds for long: finalisers ring too.
    """

    __slots__ = ("_lock", "rung")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.rung = False  # reset only by a thread that is awake: so "asleep and rung" never lies

    def ring(self) -> None:
        """Wake the sleeper, or make its next sleep end at once."""
        self.rung = True
        try:
            self._lock.release()
        except RuntimeError:  # rung before, and nobody has slept since
            return

    def take(self) -> bool:
        """Say whether it was rung while nobody slept, and forget it."""
        self.rung = False
        return self._lock.acquire(blocking=False)

    def hear(self, timeout: float) -> bool:
        """Block until rung, for at most ``timeout`` real seconds (-1: for ever)."""
        return self._lock.acquire(timeout=timeout)


class Sleep(NamedTuple):
    """One thread that sleeps: on what, and until when on the sandbox's clock."""

    alarm: Alarm
    until: float


class Seat:
    """The place of one client's keeper."""

    __slots__ = ("alarm", "closed", "label", "thread")

    def __init__(self, label: str) -> None:
        self.label = label
        self.alarm = Alarm()
        self.thread: threading.Thread | None = None  # known once it has asked or listened
        self.closed = False

    def stirs(self, asleep: dict[int, Sleep]) -> bool:
        """Whether the keeper is at work or about to be."""
        thread = self.thread
        if thread is None:
            return self.alarm.rung  # woken for the first time: it is on its way
        if not thread.is_alive():
            return False
        sleep = asleep.get(thread.ident or 0)
        return sleep is None or sleep.alarm.rung


class Rest:
    """Everybody who may be at work in one sandbox.

    ``on_loss="stop"`` may throw into any thread at any bytecode, also into one that waits here. So
    the lock is a plain one in a ``with``, which such an exception cannot leave locked (a Condition
    can be), and nobody blocks for longer than a glance.
    """

    def __init__(self) -> None:
        self.asleep: dict[int, Sleep] = {}
        self.awakenings = 0
        self._lock = threading.RLock()
        self._news = Alarm()
        self._seats: dict[str, Seat] = {}
        self._callers: dict[int, int] = {}
        self._movers: set[int] = set()

    def seat(self, client: str, label: str) -> Seat:
        """Give the seat of a client's keeper."""
        with self._lock:
            return self._seats.setdefault(client, Seat(label))

    def seated(self, client: str) -> Seat | None:
        """Give the seat of a client's keeper, if it has taken one."""
        with self._lock:
            return self._seats.get(client)

    def leave(self, client: str) -> None:
        """Note that a keeper ends; its thread is waited for, as it has a last word to say."""
        with self._lock:
            seat = self._seats.get(client)
            if seat is not None:
                seat.closed = True
        self._news.ring()

    def is_keeper(self) -> bool:
        """Whether the calling thread is one of the keepers."""
        me = threading.current_thread()
        with self._lock:
            return any(seat.thread is me for seat in self._seats.values())

    def enter(self) -> None:
        """Note that the calling thread is inside a call of holdfast."""
        frame = sys._getframe(1)  # noqa: SLF001 - the documented way to look at one's own stack
        while frame.f_code is not run.__code__:
            if frame.f_back is None:
                return
            frame = frame.f_back
        with self._lock:
            # Not the frame itself: it would keep the locals of everybody who called alive.
            self._callers[threading.get_ident()] = id(frame)

    def lie_down(self, alarm: Alarm, until: float, timeout: float = -1) -> bool:
        """Sleep on ``alarm``; say whether it was rung. ``timeout`` is in real seconds."""
        if alarm.take():
            return True
        me = threading.get_ident()
        try:
            with self._lock:
                self.asleep[me] = Sleep(alarm, until)
            self._news.ring()
            return alarm.hear(timeout)
        finally:
            with self._lock:
                self.asleep.pop(me, None)
                self.awakenings += 1

    def soonest(self) -> float:
        """Say until when the first of the sleepers wants to sleep."""
        with self._lock:
            return min((sleep.until for sleep in self.asleep.values()), default=inf)

    def ring_due(self, now: float) -> None:
        """Wake everybody whose time has come."""
        with self._lock:
            for sleep in self.asleep.values():
                if sleep.until <= now:
                    sleep.alarm.ring()

    def moving(self, *, begins: bool) -> None:
        """Note that the calling thread moves the clock: others need not wait for it."""
        with self._lock:
            change = self._movers.add if begins else self._movers.discard
            change(threading.get_ident())

    def wait(self, seat: Seat | None = None) -> None:
        """Wait until ``seat``, or everybody but the calling thread, is at rest."""
        give_up_at = time.monotonic() + LIMIT
        while True:
            self._see_off()
            with self._lock:
                who = self._at_work(seat)
            if not who:
                return
            if time.monotonic() > give_up_at:
                raise RuntimeError(
                    f"this sandbox does not come to rest: {who} is still at work after {LIMIT:g} s."
                    " Does a callback of yours wait for the test?"
                )
            self._news.hear(GLANCE)

    def _see_off(self) -> None:
        """Wait for the threads of keepers that are ending."""
        with self._lock:
            ending = [(client, seat) for client, seat in self._seats.items() if seat.closed]
        for client, seat in ending:
            if seat.thread is not None and seat.thread is not threading.current_thread():
                seat.thread.join(LIMIT)
            with self._lock:
                self._seats.pop(client, None)

    def _at_work(self, only: Seat | None) -> str:
        """Name somebody who is at work; empty if nobody is."""
        for seat in (only,) if only is not None else tuple(self._seats.values()):
            if seat.stirs(self.asleep):
                return f"the keeper of {seat.label}"
        if only is not None:
            return ""
        stacks = sys._current_frames() if self._callers else {}  # noqa: SLF001 - documented too
        for caller, call in tuple(self._callers.items()):
            sleep = self.asleep.get(caller)
            if sleep is not None and not sleep.alarm.rung:
                continue
            if caller == threading.get_ident() or caller in self._movers:
                continue
            frame = stacks.get(caller)
            while frame is not None and id(frame) != call:
                frame = frame.f_back
            if frame is not None:
                return f"a call in thread {caller}"
            if sleep is None:
                del self._callers[caller]
        return ""
