"""The sessions of one client: one for all that is free when asked for, and one for each wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from holdfast import clock
from holdfast.backends.advisory.greeting import greet
from holdfast.backends.advisory.session import Session
from holdfast.backends.advisory.target import Terms
from holdfast.backends.postgres import faults
from holdfast.backends.postgres.link import Link, open_link
from holdfast.backends.postgres.office import channel_of

MOST_IDLE = 2
"""So many are kept for the next to wait."""


class Sessions:
    """Opens them, and knows those that are open."""

    def __init__(
        self,
        terms: Terms,
        client: str,
        application: str,
        *,
        on_end: Callable[[Session, str], None],
        on_word: Callable[[str], None],
    ) -> None:
        self._terms = terms
        self._channel = channel_of(client)
        self._application = application
        self._on_end = on_end
        self._on_word = on_word
        self._opening = threading.Lock()
        self._main: Session | None = None
        self._idle: list[Session] = []
        self._open: dict[Session, None] = {}
        self.closed = False

    def main(self, deadline: float) -> Session:
        """Give the session for everything that need not wait."""
        main = self._main
        if main is not None and not main.ended:
            return main
        if not self._opening.acquire(timeout=max(0.0, deadline - clock.now())):
            raise faults.unsent(self._terms.target.shown)
        try:
            main = self._main
            if main is None or main.ended:
                main = self._main = self._opened(deadline, lasting=True)
            return main
        finally:
            self._opening.release()

    def side(self, deadline: float) -> Session:
        """Give a session that holds nothing, to one caller."""
        while self._idle:
            with suppress(IndexError):  # another thread was quicker
                session = self._idle.pop()
                if not session.ended:
                    return session
        return self._opened(deadline, lasting=False)

    def rest(self, session: Session) -> None:
        """Keep a session that holds nothing any more for the next to wait, or close it."""
        if session is self._main or session.ended:
            return
        if len(self._idle) < MOST_IDLE and not self.closed:
            self._idle.append(session)
        else:
            session.close()

    def all(self) -> list[Session]:
        """Give those that are open."""
        return list(self._open)

    def drop(self, session: Session) -> None:
        """Forget one that has ended."""
        self._open.pop(session, None)
        with suppress(ValueError):
            self._idle.remove(session)

    def close(self) -> None:
        """End all of them; the server frees what they hold."""
        self.closed = True
        for session in self.all():
            session.close()

    def is_closed(self) -> bool:
        """Whether nothing is opened any more."""
        return self.closed

    def disown(self) -> None:
        """In a forked child: let go of all of them without a word to the server."""
        for session in self.all():
            session.disown()

    def _opened(self, deadline: float, *, lasting: bool) -> Session:
        if self.is_closed():
            raise faults.closed(self._terms.target.shown)
        link = open_link(self._terms.target, self._application, deadline)
        try:
            session = self._greeted(link, deadline, lasting=lasting)
        except BaseException:
            link.close()
            raise
        self._open[session] = None
        if self.is_closed():
            session.close()
            raise faults.closed(self._terms.target.shown)
        return session

    def _greeted(self, link: Link, deadline: float, *, lasting: bool) -> Session:
        pid = greet(link, self._terms, deadline, self._channel if lasting else "")
        return Session(link, pid, self._on_end, self._on_word)
