"""What each exit code means: the one table, for every command, ``--help`` and docs/cli.md.

``run`` passes the codes of its command through, so a command that ends with 75 by itself looks
like a busy lock; ``--busy-code`` moves that one, and every line of ours begins with ``holdfast:``.
"""

from __future__ import annotations

from holdfast.errors import (
    BackendUnavailable,
    Conflict,
    HoldfastError,
    LockBusy,
    LockLost,
)

DONE = 0
MOVED_ON = 1
USAGE = 2
VIOLATED = 3
UNAVAILABLE = 69
LOST = 70
NOT_WRITTEN = 74
BUSY = 75
NOT_EXECUTABLE = 126
NOT_FOUND = 127
SIGNALLED = 128

MEANINGS = {
    "0": "done; run and lead: the command ended with 0, or --unless or --per found nothing to do",
    "1": "moved on: break was given the token of an earlier grant, once another payload",
    "2": "wrong usage: unknown option, bad duration, missing extra",
    "3": "verify: a promise was not kept; the report says which, and proves it",
    "69": "the backend is unavailable",
    "70": "the lease is lost; for run and lead --once: the command was stopped before it could end",
    "74": "the output could not be written: the disk is full, say, or stdout is closed",
    "75": "busy: somebody else holds it, and --wait is over (run: --busy-code changes this)",
    "126": "run, lead, once: the command is not executable",
    "127": "run, lead, once: the command was not found",
    "128+N": "ended by signal N: the command, or holdfast itself while it waited",
}


def of(error: HoldfastError) -> int:
    """Give the code for an error: by what the caller can do about it."""
    match error:
        case LockBusy():
            return BUSY
        case LockLost():
            return LOST
        case BackendUnavailable():
            return UNAVAILABLE
        case Conflict():
            return MOVED_ON
        case _:
            return USAGE


def of_child(returncode: int) -> int:
    """Give the code a shell would show for a child: its own, or 128 + N if signal N killed it."""
    return returncode if returncode >= 0 else SIGNALLED - returncode
