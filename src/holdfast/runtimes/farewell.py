"""When the process ends, what is still held is given back: every keeper is stopped, and waited for.

At the exit of the interpreter, and in children of ``multiprocessing``, which end without a look at
``atexit``. A killed process gives nothing back; its leases end by themselves.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Protocol

from holdfast import clock
from holdfast.ports import Bell
from holdfast.runtimes.sync import ThreadBell

LAST = -100
"""When multiprocessing calls us: after the end of children, who may work under our leases."""

EXIT_LIMIT = 2.0
"""How long the end of the process is held up for giving leases back."""


class Stoppable(Protocol):
    """A keeper, as it is seen from here."""

    def stop(self, goodbye: Bell) -> bool:
        """Ring when all is given back; ``False`` if it is already."""
        ...


_keepers: weakref.WeakSet[Stoppable] = weakref.WeakSet()
_children: set[int] = set()  # this process, once multiprocessing knows of us


def enlist(keeper: Stoppable) -> None:
    """Stop this one, too: it begins its work just now, in this process."""
    _keepers.add(keeper)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and os.getpid() not in _children:
        # A child drops what it has inherited of this, so each process says it for itself.
        _children.add(os.getpid())
        util.Finalize(None, _give_back, exitpriority=LAST)


def forget() -> None:
    """Leave the parent's keepers alone, in a forked child."""
    _keepers.clear()
    _children.clear()


def _give_back() -> None:
    """Stop every keeper, also those of clients that were dropped, and wait a little for them."""
    until = clock.now() + EXIT_LIMIT
    goodbyes = [(keeper, ThreadBell()) for keeper in tuple(_keepers)]
    stopping = [goodbye for keeper, goodbye in goodbyes if keeper.stop(goodbye)]
    for goodbye in stopping:
        goodbye.block(until)


atexit.register(_give_back)
