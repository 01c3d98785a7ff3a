"""How an async client connects: on a thread that ends with it, since the resolver may block.

The loop is told what came of it. What is not wanted any more by then (the client was closed, its
loop is over, it moved to another one) is hung up here. Counterpart: ``line``, which uses it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import TypeAlias

from holdfast import clock
from holdfast.backends.postgres import faults
from holdfast.backends.postgres.link import CONNECT_LIMIT, Link
from holdfast.backends.postgres.office import Office, listening_words
from holdfast.backends.postgres.sync import open_greeted
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff

Dialled: TypeAlias = "Link | BackendUnavailable"


class Dialler:
    """Makes one connection at a time."""

    def __init__(self, office: Office, application: str) -> None:
        self._office = office
        self._application = application
        self._under_way: object = None
        self._failures = 0
        self._closed = False

    def dial(
        self, loop: asyncio.AbstractEventLoop, channel: str, done: Callable[[Dialled], None]
    ) -> None:
        """Connect and listen, unless that is under way; ``done`` is called on the loop."""
        if self._under_way is not None or self._closed:
            return
        mine = self._under_way = object()

        def work() -> None:
            outcome = self._outcome(channel)
            if self._closed and isinstance(outcome, Link):
                outcome.close()  # here: the loop may be busy, or over
                outcome = faults.closed(self._office.shown)
            try:
                loop.call_soon_threadsafe(self._dialled, mine, outcome, done)
            except RuntimeError:  # the loop is closed
                _hang_up(outcome)

        threading.Thread(target=work, name="holdfast-postgres-connect", daemon=True).start()

    def pause(self) -> float:
        """Say how long to wait before the next try: longer each time, until one succeeds."""
        dice = int.from_bytes(os.urandom(4)) / (1 << 32)
        seconds = backoff.pause(self._failures, dice)
        self._failures += 1
        return seconds

    def forget(self) -> None:
        """Let go of what is under way: it belongs to another loop."""
        self._under_way = None

    def close(self) -> None:
        """Connect no more; what is under way is hung up when it stands."""
        self._closed = True

    def _outcome(self, channel: str) -> Dialled:
        try:
            return self._connect(channel)
        except BackendUnavailable as error:
            return error
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            return faults.unreachable(self._office.shown, repr(error))

    def _connect(self, channel: str) -> Link:
        """Connect, prepare what will be said often, and listen."""
        deadline = clock.now() + CONNECT_LIMIT
        link = open_greeted(self._office, self._application, deadline)
        try:
            link.prepare(self._office.post.texts, deadline)
            if channel and self._office.survey.push:
                link.query(listening_words(channel), deadline)
                link.listens = True
        except BaseException as error:
            link.close()
            if isinstance(error, BackendUnavailable):
                error.outcome = "none"  # nothing of anybody's was sent
            raise
        return link

    def _dialled(self, mine: object, outcome: Dialled, done: Callable[[Dialled], None]) -> None:
        if self._under_way is not mine or self._closed:
            _hang_up(outcome)
            return
        self._under_way = None
        if isinstance(outcome, Link):
            self._failures = 0
        done(outcome)


def _hang_up(outcome: Dialled) -> None:
    if isinstance(outcome, Link):
        outcome.close()
