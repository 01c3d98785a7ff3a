"""The file: one transaction per batch, the rule stepped inside it, notices sent after the commit.

Everything that touches ``sqlite3`` for a request is here; ``schema`` has the statements, ``faults``
what its errors mean. A store is used by one wire, from any thread, one at a time (the gate).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from holdfast import clock
from holdfast.backends.sqlite import faults, inbox, schema
from holdfast.backends.sqlite.batch import Batch, Memory, alone
from holdfast.backends.sqlite.gate import gate
from holdfast.backends.sqlite.host import boot_id
from holdfast.backends.sqlite.living import Living
from holdfast.backends.sqlite.sweep import Sweep
from holdfast.observe.logs import complain
from holdfast.rules.messages import ListNames, Look, Notice, Reply, Request

SHORTEST_PAUSE, LONGEST_PAUSE = 0.0001, 0.005
"""Between tries while another process writes: its transaction takes some forty microseconds."""

Identity = tuple[int, int]


class Store:
    """One wire's connection to the file."""

    def __init__(self, path: Path, inboxes: Path, shown: str, prefix: str, client: str) -> None:
        self._path = str(path)
        self._inboxes = inboxes
        self._shown = shown
        self._gate = gate(str(path))
        self._memory = Memory(prefix, Living(inboxes, client))
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity | None = None
        self._sweep = Sweep(inboxes)

    def carry_out(self, requests: Sequence[Request], deadline: float) -> list[Reply]:
        """Answer ``requests`` in one transaction, or raise ``BackendUnavailable``."""
        started_at = clock.now()
        work = self._write
        if isinstance(requests[0], (Look, ListNames)) and len(requests) == 1:
            work = self._read
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
            except OSError as error:
                raise faults.unreadable(error, self._shown) from error
            time.sleep(pause)  # outside the gate
            pause = min(LONGEST_PAUSE, pause * 1.5)
        for notice in notices:
            inbox.send(self._inboxes, notice)
        if started_at > self._sweep.due_at:
            self._tidy(started_at)
        return replies

    def close(self) -> None:
        """Let go of the connection."""
        with self._gate:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _tidy(self, now: float) -> None:
        """Forget a little of what nobody needs; if the file is busy, another time will do."""
        try:
            with self._gate:
                self._sweep.go_on(self._connected(), now)
        except sqlite3.Error as error:
            if not faults.is_busy(error):
                complain("%s could not be tidied", self._shown)

    def _connected(self) -> sqlite3.Connection:
        """Give the connection; make it anew if the file was replaced under it."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - in every transaction: half the price
            identity = (found.st_dev, found.st_ino)
        except FileNotFoundError:
            identity = None
        if self._connection is not None and identity == self._identity:
            return self._connection
        connection, self._connection = self._connection, None
        self._memory.forget()
        if connection is not None:
            connection.close()
        connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            schema.set_up(connection, boot_id(), clock.now())
        except BaseException:
            connection.close()
            raise
        found = os.stat(self._path)  # noqa: PTH116 - as above
        self._identity = (found.st_dev, found.st_ino)
        self._connection = connection
        return connection

    def _write(
        self, connection: sqlite3.Connection, requests: Sequence[Request]
    ) -> tuple[list[Reply], Sequence[Notice]]:
        if len(requests) == 1 and not isinstance(requests[0], (Look, ListNames)):
            answered = alone(connection, self._memory, requests[0])
            if answered is not None:
                return [answered[0]], answered[1]
        execute = connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            # Read after the lock was got: the time of the decision, not of the wish.
            now = clock.now()
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

    def _read(
        self, connection: sqlite3.Connection, requests: Sequence[Request]
    ) -> tuple[list[Reply], Sequence[Notice]]:
        batch = Batch(connection, self._memory, clock.now())
        return [batch.answer(request) for request in requests], []
