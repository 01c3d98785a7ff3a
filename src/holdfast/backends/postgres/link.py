"""One connection for threads: libpq through psycopg's own wrapper, waited for with ``poll``.

psycopg's connections wake up every tenth of a second while they wait, and cannot be given a limit
that is a fraction of a second; its ``pq.PGconn`` has neither trouble. A link that failed in any way
is thrown away, never mended: whatever is still under way on it belongs to nobody.
"""

from __future__ import annotations

import select
from collections.abc import Mapping
from typing import Any

from psycopg import OperationalError, pq
from psycopg.pq.abc import PGconn, PGresult

from holdfast import clock
from holdfast.backends.postgres import faults
from holdfast.backends.postgres.requests import Statement
from holdfast.backends.postgres.target import Target
from holdfast.errors import BackendUnavailable

CONNECT_LIMIT = 3.0
"""A host that is gone does not refuse: it stays silent."""

PREPARE_AFTER = 2
"""A statement that comes again so often on one connection is prepared there."""


class Link:
    """A connection that was let in."""

    def __init__(self, connection: PGconn, shown: str) -> None:
        self.connection = connection
        self.shown = shown
        self.descriptor = connection.socket  # stays known when libpq has closed it
        self.closed = False  # by us, or by libpq when something failed
        self.used_at = 0.0
        self.generation = 0
        self.pooled = False  # somebody stands between us and the server
        self.prepares = False  # whether a prepared statement will be there when it is called
        self.listens = False
        self.heard: list[tuple[str, str]] = []  # channel and payload of what came unasked
        self._uses: dict[str, int] = {}
        self._inward = select.poll()
        self._inward.register(self.descriptor, select.POLLIN)
        self._last: PGresult | None = None  # what came so far of a result that is still read

    def ask(self, statement: Statement, deadline: float) -> bytes:
        """Carry out a statement that gives one text."""
        return value_of(self.run(statement, deadline), self.shown)

    def run(self, statement: Statement, deadline: float) -> PGresult:
        """Carry out a statement, prepared if that pays; give the raw result."""
        if self.prepares:
            name = statement.name
            uses = self._uses.get(name, 0)
            if uses <= PREPARE_AFTER:
                self._uses[name] = uses + 1
                if uses == PREPARE_AFTER:
                    self.prepare({name: statement.text}, deadline)
        self.send(statement)
        return self.result(deadline)

    def prepare(self, texts: Mapping[str, bytes], deadline: float) -> None:
        """Prepare statements that will be used often, where that is safe."""
        for name, text in texts.items() if self.prepares else ():
            self.connection.send_prepare(name.encode(), text)
            value_of(self.result(deadline), self.shown)
            self._uses[name] = PREPARE_AFTER + 1

    def send(self, statement: Statement) -> None:
        """Give a statement to libpq; it leaves with ``flush``."""
        self.used_at = clock.now()
        try:
            if self.prepares and self._uses.get(statement.name, 0) > PREPARE_AFTER:
                self.connection.send_query_prepared(statement.name.encode(), statement.values)
            else:
                self.connection.send_query_params(statement.text, statement.values)
        except OperationalError as error:
            raise self._broken(error) from error

    def query(self, text: str, deadline: float) -> list[list[str]]:
        """Carry out something that is said once; give the rows as text."""
        self.used_at = clock.now()
        try:
            self.connection.send_query(text.encode())
        except OperationalError as error:
            raise self._broken(error) from error
        result = self.result(deadline)
        value_of(result, self.shown)
        return [
            [_text(result.get_value(row, column)) for column in range(result.nfields)]
            for row in range(result.ntuples)
        ]

    def is_asked(self) -> bool:
        """Whether a result is still to be read."""
        active = self.connection.transaction_status == pq.TransactionStatus.ACTIVE
        return active or self._last is not None

    def has_something(self) -> bool:
        """Whether something came although nobody asked: a notice, or the end."""
        return bool(self._inward.poll(0))

    def take_in(self) -> None:
        """Read what came unasked; raise if it was the end."""
        try:
            self.connection.consume_input()
        except OperationalError as error:
            raise self._broken(error) from error
        self.collect()

    def collect(self) -> None:
        """Put notices aside."""
        while notice := self.connection.notifies():
            self.heard.append((notice.relname.decode(), notice.extra.decode()))

    def fileno(self) -> int:
        """Give the descriptor, -1 once it is closed or has failed; libpq itself is not asked.

        Other threads look here too, while who has the connection may be about to close it.
        """
        return -1 if self.closed else self.descriptor

    def close(self) -> None:
        """Hang up."""
        self.closed = True
        self.connection.finish()

    def result(self, deadline: float) -> PGresult:
        """Wait for the result of what was sent; of several the last, or the first error.

        Whoever ran out of time may ask again: it is taken up where it was left.
        """
        connection, poll = self.connection, self._inward.poll
        try:
            while connection.flush():
                if _polled(connection.socket, select.POLLIN | select.POLLOUT, self._left(deadline)):
                    connection.consume_input()
            while True:
                while connection.is_busy():
                    left = deadline - clock.now()
                    if left <= 0 or not poll(left * 1000 + 0.999):  # as in _milliseconds
                        raise faults.silent(self.shown)
                    connection.consume_input()
                result = connection.get_result()
                if result is None:
                    break
                if self._last is None or self._last.status != pq.ExecStatus.FATAL_ERROR:
                    self._last = result
        except OperationalError as error:
            raise self._broken(error) from error
        self.collect()
        last, self._last = self._last, None
        if last is None:
            raise faults.broken(self.shown, "nothing came back")
        return last

    def _broken(self, error: OperationalError) -> BackendUnavailable:
        self.closed = self.closed or self.connection.status == pq.ConnStatus.BAD
        return faults.broken(self.shown, str(error))

    def _left(self, deadline: float) -> float:
        left = deadline - clock.now()
        if left <= 0:
            raise faults.silent(self.shown)
        return left


def open_link(target: Target, application: str, deadline: float) -> Link:
    """Connect and be let in."""
    deadline = min(deadline, clock.now() + CONNECT_LIMIT)
    connection = pq.PGconn.connect_start(target.conninfo(application))
    try:
        _wait_for_connection(connection, target.shown, deadline)
    except BaseException:
        connection.finish()
        raise
    connection.nonblocking = 1
    return Link(connection, target.shown)


def _wait_for_connection(connection: PGconn, shown: str, deadline: float) -> None:
    while True:
        if connection.status == pq.ConnStatus.BAD:
            raise faults.unreachable(shown, _said(connection))
        match connection.connect_poll():
            case pq.PollingStatus.OK:
                return
            case pq.PollingStatus.READING:
                events = select.POLLIN
            case pq.PollingStatus.WRITING:
                events = select.POLLOUT
            case _:
                raise faults.unreachable(shown, _said(connection))
        left = deadline - clock.now()
        if left <= 0 or not _polled(connection.socket, events, left):
            raise faults.unreachable(shown, "it does not answer")


def value_of(result: PGresult, shown: str) -> bytes:
    """Give the one value of a result; an error of the statement is raised as ours."""
    if result.status == pq.ExecStatus.TUPLES_OK and result.ntuples:
        return result.get_value(0, 0) or b""
    if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        return b""
    raise refusal(result, shown)


def refusal(result: PGresult, shown: str) -> BackendUnavailable:
    """Read the error of a statement; what ends the whole session leaves its outcome unknown."""
    state = _text(result.error_field(pq.DiagnosticField.SQLSTATE))
    text = _text(result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY))
    severity = _text(result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED))
    error = faults.refused(shown, state, text or _text(result.error_message))
    if severity not in {"ERROR", ""} or not state:
        error.outcome, error.transient = "unknown", True
    error.state = state  # type: ignore[attr-defined]  # for the office, which mends what it can
    return error


def _said(connection: PGconn) -> str:
    return connection.get_error_message()


def _polled(descriptor: int, events: int, seconds: float) -> list[Any]:
    poll = select.poll()
    poll.register(descriptor, events)
    return poll.poll(_milliseconds(seconds))


def _milliseconds(seconds: float) -> float:
    """Round up, so that nobody gives up a moment before the time is over."""
    return seconds * 1000 + 0.999


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")
