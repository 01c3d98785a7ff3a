"""The functions on a real server whose clock the test moves.

They are the shipped ones but for one: where they read the clock, they are given the test's. One
session asks; another hears every channel, and holds the signs of those inboxes that are open.
"""

from __future__ import annotations

import atexit
import json
import os
import select
from functools import cache
from hashlib import sha1
from typing import Any, Self

import psycopg
from psycopg import sql

from holdfast import clock
from holdfast.backends.postgres import replies, schema
from holdfast.backends.postgres.link import Link, open_link
from holdfast.backends.postgres.requests import Post, Statement
from holdfast.backends.postgres.target import target_of
from holdfast.rules.messages import Notice, Reply
from holdfast.settings import address
from tests.servers.scope import Scoped
from tests.servers.shared_postgres import SharedPostgres

SCHEMA = "holdfast_clocked"
START = 1_700_000_000.0
CLIENTS = 5
WITHIN = 10.0

_CLOCK = f"""
CREATE OR REPLACE FUNCTION {SCHEMA}.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN current_setting('holdfast_test.now')::bigint
"""


class ServerSide(Scoped):
    """One prefix on a server; ``now`` is the time there, in seconds."""

    def __init__(self, server: SharedPostgres) -> None:
        self._server = server
        self.prefix = f"t{os.urandom(6).hex()}"
        self.post = Post(SCHEMA, self.prefix, 0.0)
        self.now = START
        self.listening: set[str] = set()

    def start(self) -> Self:
        """Hear everything that is told under this prefix."""
        self._asker, self._ear = _sessions(self._server.url(), os.getpid())
        for client in range(CLIENTS):
            self._ear.query(f"LISTEN {self.inbox(f'client{client}')}", clock.now() + WITHIN)
        return self

    def close(self) -> None:
        """Leave nothing on the server."""
        for table in ("seats", "waiters", "records", "buckets"):
            forget = sql.SQL("DELETE FROM {} WHERE prefix = %s")
            self._asker.execute(forget.format(sql.Identifier(SCHEMA, table)), (self.prefix,))
        words = "UNLISTEN *; SELECT pg_advisory_unlock_all()"
        self._ear.query(words, clock.now() + WITHIN)
        self._ear.heard.clear()

    def inbox(self, client: str) -> str:
        """Name the inbox of a client; no other test has it."""
        name = f"{self.prefix}{client}".encode()
        return f"holdfast_{sha1(name, usedforsecurity=False).hexdigest()[:16]}"

    def listen(self, inbox: str) -> None:
        """Open an inbox."""
        if inbox not in self.listening:
            self.listening.add(inbox)
            self._sign("pg_advisory_lock_shared", inbox)

    def leave(self, inbox: str) -> None:
        """Close an inbox."""
        if inbox in self.listening:
            self.listening.discard(inbox)
            self._sign("pg_advisory_unlock_shared", inbox)

    def send(self, statement: Statement) -> list[Any]:
        """Carry out a statement at the test's time: a raw reply for each of its requests."""
        moment = str(round(self.now * 1_000_000))
        self._asker.execute("SELECT set_config('holdfast_test.now', %s, false)", (moment,))
        result = self._asker.pgconn.exec_params(statement.text, statement.values)
        raw = result.get_value(0, 0)
        assert raw is not None, result.error_message.decode()
        found = json.loads(raw)
        return found if statement.many else [found]

    def read(self, statement: Statement, raw: list[Any]) -> list[Reply]:
        """Read the raw replies of a statement."""
        return [
            replies.read(request, one) for request, one in zip(statement.requests, raw, strict=True)
        ]

    def notices(self, count: int) -> list[Notice | None]:
        """Give what was told: so many notices, and whatever comes beyond them."""
        ear = self._ear
        while len(ear.heard) < count:
            ready, _, _ = select.select([ear.fileno()], [], [], WITHIN)
            assert ready, "a notice did not come"
            ear.take_in()
        ear.query("SELECT 1", clock.now() + WITHIN)
        heard = [replies.read_notice(*one) for one in ear.heard]
        ear.heard.clear()
        return heard

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Look into the tables."""
        return self._asker.execute(statement, values).fetchall()

    def _sign(self, function: str, inbox: str) -> None:
        key = f"('x' || '{inbox[-16:]}')::bit(64)::bigint"
        self._ear.query(f"SELECT {function}({key})", clock.now() + WITHIN)


@cache
def _sessions(url: str, _process: int) -> tuple[psycopg.Connection[Any], Link]:
    """Connect two sessions and make the schema, once for all tests of this process."""
    connection = psycopg.connect(url, autocommit=True)
    atexit.register(connection.close)
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.pgconn.exec_(schema.statements(SCHEMA).encode())
    connection.execute(_CLOCK)
    ear = open_link(target_of(address(url)), "ear", clock.now() + WITHIN)
    return connection, ear
