"""Speaking on a connection or session of SQLAlchemy, whatever driver is behind it.

The caller has imported it. Which kind a thing is, its classes' names tell: to import the async half
only to look would ask for greenlet.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import text

from holdfast.errors import Misuse
from holdfast.postgres.connections import Row, Talk, outside

REMEDY = "leave out isolation_level='AUTOCOMMIT' for this work"

SESSIONS = {"Session", "scoped_session"}
ASYNC_SESSIONS = {"AsyncSession", "async_scoped_session"}


def talk_with(thing: Any, names: Collection[str]) -> Talk | None:
    """Give the talk on a connection or session; ``None`` for anything else."""
    if ASYNC_SESSIONS.intersection(names):
        return AsyncAlchemyTalk(thing, session=True)
    if "AsyncConnection" in names:
        return AsyncAlchemyTalk(thing, session=False)
    if SESSIONS.intersection(names):
        return AlchemyTalk(thing, session=True)
    if "Connection" in names:
        return AlchemyTalk(thing, session=False)
    return None


class _Given:
    """What both twins begin with."""

    def __init__(self, thing: Any, *, session: bool) -> None:
        self._thing = thing
        self._session = session


class AlchemyTalk(_Given):
    """A blocking one; a session speaks on the connection of its transaction."""

    blocking = True

    async def begin(self) -> None:
        """See that it leads to PostgreSQL, and that there is a transaction."""
        self._connection = self._thing.connection() if self._session else self._thing
        _check(self._connection.dialect, self._connection.connection)

    async def ask(self, statement: str, *values: object) -> Row | None:
        """Carry out a statement; give its first row."""
        result = self._connection.execute(text(_marked(statement, values)), _named(values))
        return tuple(result.fetchone()) if result.returns_rows else None


class AsyncAlchemyTalk(_Given):
    """Its async twin."""

    blocking = False

    async def begin(self) -> None:
        """See that it leads to PostgreSQL, and that there is a transaction."""
        self._connection = await self._thing.connection() if self._session else self._thing
        _check(self._connection.dialect, await self._connection.get_raw_connection())

    async def ask(self, statement: str, *values: object) -> Row | None:
        """Carry out a statement; give its first row."""
        result = await self._connection.execute(text(_marked(statement, values)), _named(values))
        return tuple(result.fetchone()) if result.returns_rows else None


def _check(dialect: Any, pooled: Any) -> None:
    if dialect.name != "postgresql":
        raise Misuse(f"this connection leads to {dialect.name}: it must be one to PostgreSQL")
    # Drivers and SQLAlchemy's adapters of async ones all have it.
    if getattr(pooled.dbapi_connection, "autocommit", False) is True:
        raise outside(REMEDY)


def _marked(statement: str, values: tuple[object, ...]) -> str:
    return statement.format(*[f":v{number}" for number in range(len(values))])


def _named(values: tuple[object, ...]) -> dict[str, object]:
    return {f"v{number}": value for number, value in enumerate(values)}
