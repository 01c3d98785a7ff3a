"""The wire for threads: a small stack of plain connections, used on the caller's own thread.

The one used last is used next, so few stay warm. A connection is lent to one caller at a time; if
anything goes wrong while it is lent (a silent server, a Ctrl-C), it is closed, never given back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from holdfast import clock
from holdfast.backends.postgres import faults
from holdfast.backends.postgres.greeting import greet
from holdfast.backends.postgres.link import Link, open_link
from holdfast.backends.postgres.office import Office, Sorter
from holdfast.backends.postgres.requests import Statement
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request

IDLE_FOR = 10.0
"""A connection that nobody needed for so long is closed, down to the last one."""

MOST_IDLE = 16
"""So many connections are kept for the next callers; what a storm of threads needed is not."""

LOOK_AFTER = 0.2
"""A connection that rested for longer is looked at before it is trusted."""


class SyncWire:
    """Blocks the caller for one round trip."""

    def __init__(self, office: Office, application: str) -> None:
        self._office = office
        self._application = application
        self._idle: list[Link] = []
        self._closed = False

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        office = self._office
        statement = office.post.statement(request)
        raw = self._carry_out(statement, deadline)
        if statement.many:
            answer = office.read(statement, raw)[0]
            if isinstance(answer, BackendUnavailable):
                raise answer
            return answer
        return office.read_one(request, raw)

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, as few statements as is sensible, one transaction each."""
        sorter = Sorter(len(requests))
        for statement in self._office.post.statements(list(enumerate(requests))):
            try:
                raw = self._carry_out(statement, deadline)
                sorter.put(statement, self._office.read(statement, raw))
            except BackendUnavailable as error:
                sorter.fail(statement, error)
        return sorter.result()

    def close(self) -> None:
        """Let go of every connection."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):  # another thread was quicker
                self._idle.pop().close()

    abandon = close

    def _carry_out(self, statement: Statement, deadline: float) -> bytes:
        try:
            return self._exchange(statement, deadline)
        except BackendUnavailable as error:
            if not self._office.may_be_mended(error):
                raise
            return self._exchange(statement, deadline)  # it was refused, so nothing was done

    def _exchange(self, statement: Statement, deadline: float) -> bytes:
        link = self.borrow(deadline)
        try:
            raw = link.ask(statement, deadline)
        except BaseException:
            self.discard(link)
            raise
        self.give_back(link)
        return raw

    def borrow(self, deadline: float) -> Link:
        """Give a connection that is good as far as can be seen."""
        while self._idle:
            try:
                link = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            fresh = link.generation == self._office.generation
            rested = clock.now() - link.used_at
            if fresh and (rested < LOOK_AFTER or self._is_good(link)):
                return link
            link.close()
        return self._open(deadline)

    def _is_good(self, link: Link) -> bool:
        """Whether the server has not hung up while the link rested: nobody asked it anything."""
        return not link.has_something()

    def give_back(self, link: Link) -> None:
        """Keep a connection for the next caller."""
        self._idle.append(link)
        if self._closed:
            self.close()
        elif len(self._idle) > MOST_IDLE or (
            len(self._idle) > 1 and self._idle[0].used_at < link.used_at - IDLE_FOR
        ):
            with suppress(IndexError):  # another thread was quicker
                self._idle.pop(0).close()

    def discard(self, link: Link) -> None:
        """Throw a connection away that was lent."""
        link.close()

    def _open(self, deadline: float) -> Link:
        if self._closed:
            raise faults.closed(self._office.shown)
        return open_greeted(self._office, self._application, deadline)


def open_greeted(office: Office, application: str, deadline: float) -> Link:
    """Connect, and get to know the server; its birth mark is noted."""
    link = open_link(office.target, application, deadline)
    link.generation = office.generation
    try:
        office.see(greet(link, office.target, office.survey, deadline))
        link.prepares = office.prepares and not link.pooled
    except BaseException:
        link.close()
        raise
    return link
