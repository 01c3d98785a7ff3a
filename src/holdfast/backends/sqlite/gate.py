"""One thread of this process at a time in one file, and nothing open during a fork.

SQLite lets one writer in and makes the others sleep and poll; threads of one process need not: they
queue here. And SQLite must not be carried over a fork: a child that merely opens a file which its
parent has open believes that it has the parent's locks, and it has none. So before a fork every
gate is taken and what is open behind it is closed; it is opened again when it is next needed.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Closes(Protocol):
    """Something open behind a gate."""

    def close_inside(self) -> None:
        """Close it, in the middle of whatever; the gate is held."""
        ...


_gates: dict[tuple[int, str], threading.Lock] = {}
_behind: dict[int, weakref.ref[Closes]] = {}
_held: list[threading.Lock] = []


def gate(path: str, behind: Closes) -> threading.Lock:
    """Give this process's gate for a file, and remember who is ``behind`` it.

    A forked child has gates of its own. No lock is taken here: this runs in its fork handlers too.
    """
    _behind[id(behind)] = weakref.ref(behind)
    return _gates.setdefault((os.getpid(), path), threading.Lock())


def _before_fork() -> None:
    pid = os.getpid()
    for (owner, _), lock in sorted(_gates.items()):
        if owner == pid:
            lock.acquire()
            _held.append(lock)
    for key, reference in tuple(_behind.items()):
        behind = reference()
        if behind is not None:
            behind.close_inside()
        elif _behind.get(key) is reference:
            del _behind[key]


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_held.clear
)
