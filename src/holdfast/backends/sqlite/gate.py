"""One thread of this process at a time in one file, and none during a fork.

SQLite lets one writer in and makes the others sleep and poll; threads of one process need not: they
queue here. Each try holds the gate only briefly, so taking every gate before a fork makes sure that
no thread is inside the SQLite library then, whose own mutexes a child could never get back.
"""

from __future__ import annotations

import os
import threading

_gates: dict[tuple[int, str], threading.Lock] = {}


def gate(path: str) -> threading.Lock:
    """Give this process's gate for a file; a forked child has its own."""
    return _gates.setdefault((os.getpid(), path), threading.Lock())


_held: list[threading.Lock] = []


def _before_fork() -> None:
    pid = os.getpid()
    for (owner, _), lock in sorted(_gates.items()):
        if owner == pid:
            lock.acquire()
            _held.append(lock)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_held.clear
)
