"""Looking after places whose keys live long: a place lives on only while its key is seen to.

A key can go without its holder's doing: deleted by hand, released by another process, flushed. If
the line were simply renewed, our users would wait behind a holder that is none. So every few
seconds the key is looked at, and the place is prolonged or passed on. If nobody can look (a blocked
loop, a silent server), the place ends by itself: then its successor polls, and nothing is wrong.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from weakref import WeakSet, ref

from holdfast.compat.redis_py.line import LIFE, Place
from holdfast.runtimes.step import run

EVERY = LIFE / 3
"""How often a key is looked at; two more looks fit before its place ends."""


async def look_after(place: Place) -> bool:
    """Prolong a place whose key is still there, pass on one whose key is not.

    Say whether somebody has to look again.
    """
    if place.line is None or not place.claim_id:
        return False
    try:
        left = await place.key.look(place.token)
        if left is None:
            await place.line.leave(place)
            return False
        await place.line.keep(place, left)
    except Exception:  # noqa: BLE001 - whatever the user's client raises: nothing is known now
        return True
    return left > LIFE


class ThreadWatch:
    """Looks on a thread of its own, which ends when there is nothing to look after."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._places: WeakSet[Place] = WeakSet()
        self._thread: threading.Thread | None = None

    def add(self, place: Place) -> None:
        """Look after ``place`` from now on."""
        if self._process != os.getpid():
            self._start()  # a forked child has neither the thread nor, perhaps, a free mutex
        with self._mutex:
            self._places.add(place)
            if self._thread is None:
                # The thread refers to no watch, hence to no pool, while it sleeps.
                turn = ref(self)
                self._thread = threading.Thread(
                    target=_keep_turning, args=(turn,), name="holdfast-redis-py-watch", daemon=True
                )
                self._thread.start()

    def discard(self, place: Place) -> None:
        """Look after it no longer."""
        if self._process == os.getpid():
            with self._mutex:
                self._places.discard(place)

    def turn(self) -> bool:
        """Look at every key once; say whether there is a reason to go on."""
        with self._mutex:
            places = tuple(self._places)
            if not places:
                self._thread = None
                return False
        for place in places:
            if not run(look_after(place)):
                self.discard(place)
        return True


def _keep_turning(watch: Callable[[], ThreadWatch | None]) -> None:
    while True:
        time.sleep(EVERY)
        found = watch()
        if found is None or not found.turn():
            return
        del found


class LoopWatch:
    """Looks on the loop it was made on, by a timer, so that no task is left when the loop ends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._places: WeakSet[Place] = WeakSet()
        self._timer: asyncio.TimerHandle | None = None
        self._turning: asyncio.Task[None] | None = None

    def add(self, place: Place) -> None:
        """Look after ``place`` from now on."""
        self._places.add(place)
        if self._timer is None and self._turning is None:
            self._timer = self._loop.call_later(EVERY, _ring, ref(self))

    def discard(self, place: Place) -> None:
        """Look after it no longer."""
        self._places.discard(place)

    def begin_turn(self) -> None:
        """Look at every key once, and set the timer again if there is a reason to."""
        self._timer = None
        if self._places:
            self._turning = self._loop.create_task(self._turn())

    async def _turn(self) -> None:
        for place in tuple(self._places):
            if not await look_after(place):
                self.discard(place)
        self._turning = None
        if self._places:
            self._timer = self._loop.call_later(EVERY, _ring, ref(self))


def _ring(watch: Callable[[], LoopWatch | None]) -> None:
    found = watch()
    if found is not None:
        found.begin_turn()
