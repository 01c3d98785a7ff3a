"""Hands each event to every observer, the log among them; an observer's fault stays its own.

Logging itself is imported when there is something to log: a program that only wants to start should
not pay for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from holdfast.observe.events import Event, Observer

DEBUG = 10


class Hub:
    """The observers of one client."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    @property
    def curious(self) -> bool:
        """Whether anybody wants the everyday events too; if not, they are not even made."""
        if self._observers:
            return True
        # Nobody asks for DEBUG without importing it; while it is being imported it has no names.
        logger = getattr(sys.modules.get("logging"), "getLogger", None)
        return logger is not None and bool(logger("holdfast").isEnabledFor(DEBUG))

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        from holdfast.observe.logs import log

        log(event)
        for observer in self._observers:
            try:
                observer(event)
            except Exception:  # noqa: BLE001 - whatever it is, it must not reach the holder's work
                complain("the observer %r failed on %r", observer, event)


def complain(message: str, *details: object) -> None:
    """Say in the log that something went wrong beside the work, with its traceback."""
    from holdfast.observe.logs import logger

    logger.error(message, *details, exc_info=True)
