"""How the command line speaks: one line on stderr for people, JSON on stdout for programs.

What a terminal would obey is escaped here, for all. No password and no claim id may be printed:
errors and values of the library carry neither.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from holdfast.values import Json, printable


def say(text: str) -> None:
    """Write one line to stderr. A terminal that is gone must not end the work that goes on."""
    line = printable(" ".join(text.split()))
    try:
        sys.stderr.write(f"holdfast: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # What is left in the buffer would be tried again at the exit, and change its code.
        _let_go(sys.stderr)


class NobodyReads(Exception):
    """Whoever read our output has seen enough, or was never there."""


class CannotWrite(Exception):
    """Our output did not get where it should: the disk is full, stdout is closed."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write the output: {error.strerror or error}")


def put(line: str) -> None:
    """Write one line to stdout, at once."""
    with writing():
        sys.stdout.write(f"{printable(line)}\n")
        sys.stdout.flush()


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Tell errors of what is written to stdout inside from all others; it cannot go on then."""
    try:
        yield
    except BrokenPipeError as error:  # click would end with 1 here, without asking
        _let_go(sys.stdout)
        raise NobodyReads from error
    except OSError as error:
        _let_go(sys.stdout)
        raise CannotWrite(error) from error


def _let_go(stream: TextIO) -> None:
    """Write to nowhere from now on."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
