"""The one connection of an async client: what is asked while it is busy travels together next.

It belongs to one event loop; asked from another, it is made anew there. One statement is under way
at a time. Each request has its own time limit, and none can spoil the others': a connection is
given up only when nobody who is under way on it can wait any longer. It is connected by
``dialling``; who waits for what is a ``job``. Counterpart: ``link``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from psycopg import OperationalError, pq
from psycopg.pq.abc import PGresult

from holdfast import clock
from holdfast.backends.postgres import faults
from holdfast.backends.postgres.dialling import Dialled, Dialler
from holdfast.backends.postgres.job import Job
from holdfast.backends.postgres.link import CONNECT_LIMIT, Link, value_of
from holdfast.backends.postgres.office import Office, listening_words
from holdfast.backends.postgres.requests import BATCH, Statement
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Request

CROWD = 64
"""More than this go in two halves: while the server works on one, the loop serves the other."""

LISTEN = Statement("listen", b"", (), (), ())
"""What is under way while a connection becomes an inbox; it carries nobody's request."""


class Line:
    """Asks, and hears what comes unasked."""

    def __init__(self, office: Office, application: str) -> None:
        self._office = office
        self._dialler = Dialler(office, application)
        self._pending: deque[Job] = deque()
        self._flying: tuple[Statement, list[Job]] | None = None
        self._last: PGresult | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._link: Link | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scheduled = False
        self._alone = True  # the last statement carried one request
        self._trouble: BackendUnavailable | None = None  # why there is no connection, if known
        self._closed = False
        self.channel = ""
        self.hears = False
        self.hear: Callable[[str, str], None] = lambda _channel, _payload: None
        self.deaf: Callable[[], None] = lambda: None

    # Asking

    def hand_in(self, request: Request, deadline: float) -> Job:
        """Let a request travel with the next statement."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        if self._closed:
            raise faults.closed(self._office.shown)
        job = Job(request, deadline, loop.create_future())
        self._pending.append(job)
        if self._alone and self._link is not None and not self._scheduled:
            self._go()  # who was alone so far does not wait a turn of the loop for company
        else:
            self._schedule(loop)
        return job

    def expire(self, job: Job) -> None:
        """Give up on one request: its time is over."""
        if job.answer.done():
            return
        shown = self._office.shown
        if job.sent:
            job.answer.set_exception(faults.silent(shown))
        elif self._link is None:
            trouble = self._trouble or faults.unreachable(shown, "it does not answer")
            job.answer.set_exception(trouble)
        else:
            job.answer.set_exception(faults.unsent(shown))

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._flying is None and not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._go)

    def _go(self) -> None:
        """Send what has gathered, in one statement."""
        self._scheduled = False
        if self._flying is not None:
            return
        link = self._link
        if link is not None and link.generation != self._office.generation:
            self._lost(faults.broken(self._office.shown, "it leads to a standby"))
            link = None
        if link is not None and self.channel and not self.hears:
            self._listen(link)
            return
        jobs: list[Job] = []
        most = min(BATCH, max(CROWD, len(self._pending) // 2))
        while self._pending and len(jobs) < most:
            job = self._pending.popleft()
            if not job.answer.done():
                jobs.append(job)
        if not jobs:
            return
        if link is None:
            self._pending.extendleft(reversed(jobs))
            self._open()
            return
        self._send(link, jobs)

    def _send(self, link: Link, jobs: list[Job]) -> None:
        post = self._office.post
        if len(jobs) == 1:
            statement = post.statement(jobs[0].request)
        else:
            statement = post.batch([(place, job.request) for place, job in enumerate(jobs)])
        self._alone = len(jobs) == 1
        for job in jobs:
            job.sent = True
        self._flying = statement, jobs
        self._last = None
        assert self._loop is not None  # noqa: S101 - whoever handed something in was on it
        latest = max(job.deadline for job in jobs)
        self._overdue = self._loop.call_later(max(0.0, latest - clock.now()), self._too_slow)
        try:
            link.send(statement)
        except BackendUnavailable as error:
            self._lost(error)
            return
        self._flush()

    def _flush(self) -> None:
        link, loop = self._link, self._loop
        if link is None or loop is None:
            return
        try:
            if link.connection.flush():
                loop.add_writer(link.descriptor, self._flush)
            else:
                loop.remove_writer(link.descriptor)
        except OperationalError as error:
            self._lost(faults.broken(self._office.shown, str(error)))

    # Hearing

    def _readable(self) -> None:
        link = self._link
        if link is None:
            return
        try:
            link.connection.consume_input()
            while self._flying is not None and not link.connection.is_busy():
                result = link.connection.get_result()
                if result is None:
                    self._arrived()
                    break
                if self._last is None or self._last.status != pq.ExecStatus.FATAL_ERROR:
                    self._last = result
        except OperationalError as error:
            self._lost(faults.broken(self._office.shown, str(error)))
            return
        self._take_in(link)
        if self._link is link and link.connection.status == pq.ConnStatus.BAD:
            self._lost(faults.broken(self._office.shown, "the server hung up"))

    def _take_in(self, link: Link) -> None:
        link.collect()
        if link.heard:
            heard, link.heard = link.heard, []
            for channel, payload in heard:
                self.hear(channel, payload)

    def _arrived(self) -> None:
        """Give everybody his answer, and send what has gathered meanwhile."""
        (statement, jobs), result = self._landed(), self._last
        assert result is not None  # noqa: S101 - libpq ends with one
        try:
            raw = value_of(result, self._office.shown)
        except BackendUnavailable as error:
            self._refused(jobs, error)
            return
        if statement is LISTEN:
            self.hears = True
            self.deaf()  # whatever was told before that is lost
        if self._pending:
            self._go()  # first, so that the server has work while these are served
        if statement is not LISTEN:
            answers = self._office.read(statement, raw)
            for place, answer in zip(statement.places, answers, strict=True):
                jobs[place].settle(answer)

    def _refused(self, jobs: list[Job], error: BackendUnavailable) -> None:
        """Tell everybody that nothing was done; what only lacked its schema is sent again, once."""
        again: list[Job] = []
        mendable = self._office.may_be_mended(error)
        for job in jobs:
            if mendable and not job.mended and not job.answer.done():
                job.mended, job.sent = True, False
                again.append(job)
            else:
                job.settle(error)
        self._pending.extendleft(reversed(again))
        if mendable:
            self._lost(error)
        if self._pending:
            self._go()

    def _landed(self) -> tuple[Statement, list[Job]]:
        assert self._flying is not None  # noqa: S101 - asked by whoever saw it land
        flying, self._flying = self._flying, None
        if self._overdue is not None:
            self._overdue.cancel()
        return flying

    def _too_slow(self) -> None:
        if self._flying is not None:
            self._lost(faults.silent(self._office.shown))

    def _lost(self, error: BackendUnavailable) -> None:
        """Throw the connection away; what was under way on it may have been carried out."""
        link, self._link = self._link, None
        heard, self.hears = self.hears, False
        if link is not None:
            self._take_in(link)
            _detach(self._loop, link)
        if self._flying is not None:
            _, jobs = self._landed()
            for job in jobs:
                job.settle(error)
        if heard:
            self._open_later()
        if self._pending and self._loop is not None:
            self._schedule(self._loop)

    # Connecting

    def start_listening(self, channel: str) -> None:
        """Listen before anything else is asked, on this connection and on all that follow."""
        self.channel = channel

    def _listen(self, link: Link) -> None:
        """Make the open connection an inbox; what has gathered goes after that."""
        self._flying = LISTEN, []
        self._last = None
        assert self._loop is not None  # noqa: S101 - there is a connection on it
        self._overdue = self._loop.call_later(CONNECT_LIMIT, self._too_slow)
        try:
            link.connection.send_query(listening_words(self.channel).encode())
        except OperationalError as error:
            self._lost(faults.broken(self._office.shown, str(error)))
            return
        self._flush()

    def _open(self) -> None:
        if self._loop is not None:
            self._dialler.dial(self._loop, self.channel, self._opened)

    def _opened(self, outcome: Dialled) -> None:
        assert self._loop is not None  # noqa: S101 - it was asked for on it
        self._trouble = outcome if isinstance(outcome, BackendUnavailable) else None
        if isinstance(outcome, BackendUnavailable):
            while self._pending:
                self._pending.popleft().settle(outcome)
            if self.channel:
                self._open_later()
            return
        self._link = outcome
        if not self._office.survey.push:
            self.channel = ""
        self._loop.add_reader(outcome.descriptor, self._readable)
        if outcome.listens:
            self.hears = True
            self.deaf()  # whatever was told before that is lost
        self._go()

    def _open_later(self) -> None:
        """Connect again, so that the inbox hears; nobody may be asking while all of them wait."""
        if not self._closed and self._loop is not None:
            self._loop.call_later(self._dialler.pause(), self._reopen)

    def _reopen(self) -> None:
        if self._link is None:
            self._open()

    # Leaving

    def close(self) -> None:
        """Let go; from another thread or loop, the loop does it itself."""
        self._closed = True
        self._dialler.close()
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            self._hang_up()
        else:
            with suppress(RuntimeError):  # it was closed this very moment
                loop.call_soon_threadsafe(self._hang_up)

    def _hang_up(self) -> None:
        self._lost(faults.closed(self._office.shown))
        while self._pending:
            self._pending.popleft().settle(faults.closed(self._office.shown))

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave what belongs to another loop: it cannot be used here, and is most likely over."""
        old, link = self._loop, self._link
        self._loop, self._link, self._flying = loop, None, None
        self._dialler.forget()
        self._pending.clear()
        self._scheduled = self.hears = False
        if link is not None:
            if old is not None and not old.is_closed():
                old.call_soon_threadsafe(_detach, old, link)
            else:
                link.close()


def _detach(loop: asyncio.AbstractEventLoop | None, link: Link) -> None:
    """Take a connection off its loop, and hang up."""
    if loop is not None and not loop.is_closed() and link.descriptor >= 0:
        loop.remove_reader(link.descriptor)
        loop.remove_writer(link.descriptor)
    link.close()
