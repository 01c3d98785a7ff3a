"""Speaking on a connection of psycopg 3, or on that of a cursor. The caller has imported it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row

from holdfast.errors import Misuse
from holdfast.postgres.connections import Row, Talk, outside

REMEDY = "open one, as in `with connection.transaction():`"


def talk_with(thing: object) -> Talk:
    """Give the talk on a connection, or on the connection of a cursor."""
    connection = getattr(thing, "connection", thing)
    if isinstance(connection, psycopg.Connection):
        return PsycopgTalk(connection)
    if isinstance(connection, psycopg.AsyncConnection):
        return AsyncPsycopgTalk(connection)
    raise Misuse(f"give a connection or a cursor of psycopg, not a {type(thing).__qualname__}")


class PsycopgTalk:
    """A blocking one. It has a cursor of its own, whatever kind the caller's cursors are."""

    blocking = True

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def begin(self) -> None:
        """See that there is a transaction, or will be with the first statement."""
        _check(self._connection, REMEDY)

    async def ask(self, statement: str, *values: object) -> Row | None:
        """Carry out a statement; give its first row."""
        with psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:
            cursor.execute(_marked(statement, values), values or None)
            return cursor.fetchone() if cursor.description else None


class AsyncPsycopgTalk:
    """Its async twin."""

    blocking = False

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def begin(self) -> None:
        """See that there is a transaction, or will be with the first statement."""
        _check(self._connection, f"{REMEDY}, with `async with`")

    async def ask(self, statement: str, *values: object) -> Row | None:
        """Carry out a statement; give its first row."""
        async with psycopg.AsyncCursor(self._connection, row_factory=tuple_row) as cursor:
            await cursor.execute(_marked(statement, values), values or None)
            return await cursor.fetchone() if cursor.description else None


def _check(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], remedy: str) -> None:
    info = connection.info
    if info.pipeline_status != PipelineStatus.OFF:  # a refusal would come later than the call
        raise Misuse("this connection is in pipeline mode: call this before or after the pipeline")
    if connection.autocommit and info.transaction_status == TransactionStatus.IDLE:
        raise outside(remedy)


def _marked(statement: str, values: tuple[object, ...]) -> bytes:
    return statement.format(*["%s"] * len(values)).encode()
