"""How the command line speaks: one line on stderr for people, JSON on stdout for programs.

What a terminal would obey is escaped here, for all. No password and no claim id may be printed:
errors and values of the library carry neither.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys

from holdfast.values import Json, printable


def say(text: str) -> None:
    """Write one line to stderr. A terminal that is gone must not end the work that goes on."""
    line = printable(" ".join(text.split()))
    try:
        sys.stderr.write(f"holdfast: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # What is left in the buffer would be tried again at the exit, and change its code.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class NobodyReads(Exception):
    """Whoever read our output has seen enough, or was never there."""


def put(line: str) -> None:
    """Write one line to stdout, at once."""
    try:
        sys.stdout.write(f"{printable(line)}\n")
        sys.stdout.flush()
    except BrokenPipeError as error:  # click would end with 1 here, without asking
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise NobodyReads from error


def put_json(value: Json) -> None:
    """Write a value to stdout as one line of JSON."""
    import json

    put(json.dumps(value))


class _OneLine(logging.Handler):
    """Shows what the library logs in the same form as everything else that is said here."""

    def emit(self, record: logging.LogRecord) -> None:
        fault = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        say(record.getMessage() + fault)


def say_what_is_logged(level: int) -> None:
    """Let what the library logs (long waits, failing renewals, losses) appear on stderr."""
    logger = logging.getLogger("holdfast")
    logger.handlers = [_OneLine(level)]
    logger.propagate = False
