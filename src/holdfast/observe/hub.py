"""Hands each event to every observer, the log among them; an observer's fault stays its own."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from holdfast.observe.events import Event, Observer
from holdfast.observe.logs import complain, log, logger


class Hub:
    """The observers of one client."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    @property
    def curious(self) -> bool:
        """Whether anybody wants the everyday events too; if not, they are not even made."""
        return bool(self._observers) or logger.isEnabledFor(logging.DEBUG)

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        log(event)
        for observer in self._observers:
            try:
                observer(event)
            except Exception:  # noqa: BLE001 - whatever it is, it must not reach the holder's work
                complain("the observer %r failed on %r", observer, event)
