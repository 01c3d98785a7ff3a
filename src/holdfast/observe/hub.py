"""Hands each event to every observer, the log among them; an observer's fault stays its own.

Logging itself is imported when there is something to log: a program that only wants to start should
not pay for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from holdfast.observe.events import Event, Observer
from holdfast.values import APART, called

DEBUG = 10


class Hub:
    """The observers of one client."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._logger: Any = None  # once somebody has imported logging

    @property
    def curious(self) -> bool:
        """Whether anybody wants the everyday events too; if not, they are not even made."""
        if self._observers:
            return True
        if self._logger is None:
            # Nobody asks for DEBUG without importing it; half imported it has no names yet.
            give = getattr(sys.modules.get("logging"), "getLogger", None)
            if give is None:
                return False
            self._logger = give("holdfast")
        wanted: bool = self._logger.isEnabledFor(DEBUG)
        return wanted

    def tell(self, event: Event) -> None:
        """Tell everybody; a claim behind a once key or a singleton is named by that."""
        from holdfast.observe.logs import log

        if event.name.startswith(APART):
            event = event._replace(name=called(event.name))

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
