"""The file: one transaction per batch, the rule stepped inside it, notices sent after the commit.

Everything that touches ``sqlite3`` for a request is here; ``schema`` has the statements, ``faults``
what its errors mean. A store is used by one wire, from any thread, one at a time (the gate).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from holdfast import clock
from holdfast.backends.sqlite import faults, inbox, lease_clock, schema
from holdfast.backends.sqlite.batch import Batch, Memory, alone
from holdfast.backends.sqlite.gate import gate
from holdfast.backends.sqlite.host import boot_id
from holdfast.backends.sqlite.living import Living
from holdfast.backends.sqlite.need import READING, WRITING, Need
from holdfast.backends.sqlite.sweep import Sweep
from holdfast.errors import BackendUnavailable
from holdfast.observe.hub import complain
from holdfast.rules.messages import CLAIM_REQUESTS, ListNames, Look, Notice, Reply, Request

SHORTEST_PAUSE, LONGEST_PAUSE = 0.0001, 0.005
"""Between tries while another process writes: its transaction takes some forty microseconds."""

LOOK_EVERY = 0.1
"""How often a store looks whether its file is still the one that the path names."""

Identity = tuple[int, int]


class Store:
    """One wire's connection to the file."""

    def __init__(self, path: Path, inboxes: Path, shown: str, prefix: str, client: str) -> None:
        self._path = path
        self._inboxes = inboxes
        self._shown = shown
        self._gate = gate(str(path), self)
        self._memory = Memory(prefix, Living(inboxes, client))
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity | None = None
        self._sweep = Sweep(inboxes)
        self._looked_at = 0.0

    def answer(self, request: Request, deadline: float) -> Reply:
        """Answer one request: with a single statement where that can be, else as a batch of one."""
        if isinstance(request, CLAIM_REQUESTS) and request.name in self._memory.known:
            try:
                with self._gate:
                    answered = alone(self._connected(), self._memory, request)
            except (sqlite3.Error, OSError):
                answered = None  # whatever it is, the long way meets it again and deals with it
            if answered is not None:
                reply, notices = answered
                self._send(notices)
                return reply
        return self.carry_out((request,), deadline)[0]

    def carry_out(self, requests: Sequence[Request], deadline: float) -> list[Reply]:
        """Answer ``requests`` in one transaction, or raise ``BackendUnavailable``."""
        started_at = clock.now()
        need = max(map(_need_of, requests), default=READING)
        work = (self._read, self._write, self._write_to_last)[need]
        pause = SHORTEST_PAUSE
        while True:
            try:
                with self._gate:
                    replies, notices = work(self._connected(), requests)
                break
            except sqlite3.Error as error:
                if not faults.is_busy(error):
                    self.close()  # the next try starts with a fresh look at the file
                    raise faults.explained(error, self._shown) from error
                if clock.now() + pause >= deadline:
                    raise faults.still_busy(self._shown, clock.now() - started_at) from error
            except BackendUnavailable:
                raise  # said already; it is an OSError too
            except OSError as error:
                raise faults.unreadable(error, self._shown) from error
            time.sleep(pause)  # outside the gate
            pause = min(LONGEST_PAUSE, pause * 1.5)
        self._send(notices)
        return replies

    def _send(self, notices: Sequence[Notice]) -> None:
        """Tell others, now that it is written; and tidy up a little, now and then."""
        for notice in notices:
            inbox.send(self._inboxes, notice)
        if self._looked_at > self._sweep.due_at:
            self._tidy()

    def close(self) -> None:
        """Let go of the connection."""
        with self._gate:
            self.close_inside()

    def close_inside(self) -> None:
        """Let go of the connection while the gate is held; the next request opens another."""
        connection, self._connection = self._connection, None
        self._memory.forget()
        if connection is not None:
            connection.close()

    def _tidy(self) -> None:
        """Forget a little of what nobody needs; if the file is busy, another time will do."""
        try:
            with self._gate:
                self._sweep.go_on(self._connected(), self._looked_at, lease_clock.now())
        except (sqlite3.Error, OSError) as error:
            if not isinstance(error, sqlite3.Error) or not faults.is_busy(error):
                complain("%s could not be tidied", self._shown)

    def _connected(self) -> sqlite3.Connection:
        """Give the connection; make it anew if the file was replaced under it."""
        now = clock.now()
        if self._connection is not None and now < self._looked_at + LOOK_EVERY:
            return self._connection
        same = self._identity == _identity(self._path)
        self._looked_at = now  # not before: a look that fails does not count
        if self._connection is not None and same:
            return self._connection
        self.close_inside()
        connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            schema.set_up(connection, boot_id(), lease_clock.now())
        except BaseException:
            connection.close()
            raise
        self._identity = _identity(self._path)
        self._connection = connection
        return connection

    def _write(
        self, connection: sqlite3.Connection, requests: Sequence[Request]
    ) -> tuple[list[Reply], Sequence[Notice]]:
        execute = connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            # Read after the lock was got: the time of the decision, not of the wish.
            now = lease_clock.now()
            batch = Batch(connection, self._memory, now)
            replies = [batch.answer(request) for request in requests]
            batch.store()
            execute("COMMIT")
        except BaseException:
            self._memory.forget()  # it may have learnt what is not going to be true
            if connection.in_transaction:
                execute("ROLLBACK")
            raise
        return replies, batch.notices

    def _write_to_last(
        self, connection: sqlite3.Connection, requests: Sequence[Request]
    ) -> tuple[list[Reply], Sequence[Notice]]:
        """Write what a power cut must not take back: the commit waits for the disk."""
        connection.execute(schema.WAIT_FOR_DISK)
        try:
            return self._write(connection, requests)
        finally:
            connection.execute(schema.DO_NOT_WAIT)

    def _read(
        self, connection: sqlite3.Connection, requests: Sequence[Request]
    ) -> tuple[list[Reply], Sequence[Notice]]:
        batch = Batch(connection, self._memory, lease_clock.now())
        return [batch.answer(request) for request in requests], []


def _need_of(request: Request) -> Need:
    if isinstance(request, CLAIM_REQUESTS):
        return READING if isinstance(request, Look) else WRITING
    if isinstance(request, ListNames):
        return READING
    from holdfast.backends.sqlite.families import need_of  # locks alone do without

    return need_of(request)


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
