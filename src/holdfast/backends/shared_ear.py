"""An inbox that is heard by the keeper when nobody waits in line, else by a thread that waits.

Here is how the two take turns (``lookout``); what there is to listen to, and how it is read, a
backend says itself. Where threads come and go all the time, telling the keeper each time would hold
them up. So then it naps, and looks from time to time whether anybody listens.
"""

from __future__ import annotations

import os
import select
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Literal

from holdfast import clock
from holdfast.backends.lookout import Lookout
from holdfast.backends.waking import LONGEST, PipedEar
from holdfast.ports import Bell

RELIEF = b"\1"
"""What is written into the keeper's pipe when it is to listen or need not listen any more."""

NAP = 0.1
"""So long the keeper may not notice that nobody listens, while threads come and go."""

QUIET = 1.0
"""Who has been on the lookout for so long may stay for longer: the keeper sleeps until told."""

_Keeper = Literal["awake", "listens", "naps", "sleeps"]


class SharedEar(PipedEar, ABC):
    """The inbox of one client of threads."""

    def __init__(self) -> None:
        super().__init__()
        self._keeper: _Keeper = "awake"  # what it does at this moment
        self._lookout = Lookout(self)

    @abstractmethod
    def descriptors(self) -> Collection[int]:
        """Say where something can be heard."""

    @abstractmethod
    def overhear(self, ready: Sequence[int], until: float) -> None:
        """Read what has arrived and deliver it, on the thread of one who waits."""

    @abstractmethod
    def _read(self, ready: Collection[int]) -> None:
        """Read what has arrived and put it aside, on the keeper's thread."""

    def bell(self) -> Bell:
        """Make a bell for a thread that waits in line: it may listen meanwhile."""
        return self._lookout.bell()

    def relieve(self) -> None:
        """Tell the keeper to begin or to stop to listen, unless it will see that by itself."""
        if self._keeper == ("listens" if self._lookout.is_manned() else "sleeps"):
            self._clapper.ring(RELIEF)

    def close(self) -> None:
        """Stop hearing; the wire hangs up, and who is on the lookout leaves by itself."""
        self._lookout.close()
        super().close()

    def forget(self) -> None:
        """Close the inherited pipes only."""
        self._lookout.forget()
        super().forget()

    def _was_relieved(self, until: float) -> bool:
        """Sleep; say whether nothing happened but that somebody came to the lookout or left it."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        now = clock.now()
        naps = now < self._lookout.came_at + QUIET
        # First said, then looked: whoever comes or leaves meanwhile does it the other way round.
        self._keeper = "naps" if naps else "sleeps"
        if not self._lookout.is_manned():
            self._keeper, naps = "listens", False
        if self._keeper == "listens" and self._lookout.is_manned():
            return True  # somebody has just come
        if self._keeper == "listens":
            for descriptor in self.descriptors():
                poll.register(descriptor, select.POLLIN)
        delay = min(max(0.0, until - now), NAP if naps else LONGEST)
        ready = {descriptor for descriptor, _ in poll.poll(delay * 1000 + 0.999)}
        self._keeper = "awake"
        called = b""
        if self._bell in ready:
            ready.remove(self._bell)
            with suppress(BlockingIOError):
                called = os.read(self._bell, 4096)
        if ready:
            self._read(ready)
            return False
        if called:
            return called.count(RELIEF) == len(called)
        return clock.now() < until
