"""Everybody's own transaction, one kind of connection each, spoken to in the same words.

``given`` is what is handed to holdfast; ``settle`` awaits what an async connection gives.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Literal

import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from tests.servers.shared_postgres import shared_postgres

Kind = Literal[
    "psycopg",
    "psycopg-cursor",
    "psycopg-async",
    "psycopg-async-cursor",
    "alchemy",
    "alchemy-session",
    "alchemy-async",
    "alchemy-async-session",
    "alchemy-asyncpg",
]


async def settle(what: object) -> object:
    """Wait for what has to be waited for."""
    return await what if isawaitable(what) else what


@dataclass(frozen=True)
class Own:
    """One transaction of somebody's own."""

    given: Any
    _execute: Callable[[str], Any]
    _end: Callable[[str], Any]

    async def execute(self, statement: str) -> None:
        """Do something in it."""
        await settle(self._execute(statement))

    async def commit(self) -> None:
        """Commit it, or find that there is nothing to commit."""
        await settle(self._end("commit"))

    async def rollback(self) -> None:
        """Leave it without a trace."""
        await settle(self._end("rollback"))


def opened(kind: Kind) -> AbstractAsyncContextManager[Own]:
    """Open a connection of this kind; it is closed, and rolled back, at the end."""
    return OPENERS[kind]()


def _url(driver: str) -> str:
    return shared_postgres().url().replace("postgresql://", f"postgresql+{driver}://")


def _spoken(given: Any, connection: Any, words: Callable[[str], Any] = str) -> Own:
    return Own(
        given,
        lambda statement: connection.execute(words(statement)),
        lambda how: getattr(connection, how)(),
    )


@asynccontextmanager
async def _psycopg() -> AsyncIterator[Own]:
    connection = psycopg.connect(shared_postgres().url())
    try:
        yield _spoken(connection, connection)
    finally:
        connection.close()


@asynccontextmanager
async def _psycopg_cursor() -> AsyncIterator[Own]:
    connection = psycopg.connect(shared_postgres().url())
    try:
        yield _spoken(connection.cursor(), connection)
    finally:
        connection.close()


@asynccontextmanager
async def _psycopg_async() -> AsyncIterator[Own]:
    connection = await psycopg.AsyncConnection.connect(shared_postgres().url())
    try:
        yield _spoken(connection, connection)
    finally:
        await connection.close()


@asynccontextmanager
async def _psycopg_async_cursor() -> AsyncIterator[Own]:
    connection = await psycopg.AsyncConnection.connect(shared_postgres().url())
    try:
        yield _spoken(connection.cursor(), connection)
    finally:
        await connection.close()


@asynccontextmanager
async def _alchemy() -> AsyncIterator[Own]:
    engine = sqlalchemy.create_engine(_url("psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        yield _spoken(connection, connection, sqlalchemy.text)


@asynccontextmanager
async def _alchemy_session() -> AsyncIterator[Own]:
    engine = sqlalchemy.create_engine(_url("psycopg"), poolclass=NullPool)
    with Session(engine) as session:
        yield _spoken(session, session, sqlalchemy.text)


def _alchemy_async(driver: str) -> Callable[[], AbstractAsyncContextManager[Own]]:
    @asynccontextmanager
    async def one() -> AsyncIterator[Own]:
        engine = create_async_engine(_url(driver), poolclass=NullPool)
        async with engine.connect() as connection:
            yield _spoken(connection, connection, sqlalchemy.text)

    return one


@asynccontextmanager
async def _alchemy_async_session() -> AsyncIterator[Own]:
    engine = create_async_engine(_url("psycopg"), poolclass=NullPool)
    async with AsyncSession(engine) as session:
        yield _spoken(session, session, sqlalchemy.text)


OPENERS: dict[Kind, Callable[[], AbstractAsyncContextManager[Own]]] = {
    "psycopg": _psycopg,
    "psycopg-cursor": _psycopg_cursor,
    "psycopg-async": _psycopg_async,
    "psycopg-async-cursor": _psycopg_async_cursor,
    "alchemy": _alchemy,
    "alchemy-session": _alchemy_session,
    "alchemy-async": _alchemy_async("psycopg"),
    "alchemy-async-session": _alchemy_async_session,
    "alchemy-asyncpg": _alchemy_async("asyncpg"),
}
