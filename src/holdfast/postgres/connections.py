"""Whose connection was given, and how one statement is carried out on it: a ``Talk``.

The stories (``guard``, ``fence``, ``xact_lock``) are written once, as coroutines over a talk. On a
blocking connection they never suspend and are stepped to their end, as everywhere in holdfast; on
an async one the caller awaits them. Libraries are told apart by where a thing's class was made, so
none is imported that the caller has not imported before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

from holdfast.errors import Misuse
from holdfast.runtimes.step import run

T = TypeVar("T")

Row = tuple[Any, ...]


class AsyncConnection(Protocol):
    """An async connection, cursor or session: what it is asked to execute is awaited."""

    def execute(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Carry out a statement."""
        ...


class Fetches(Protocol):
    """What a statement on a blocking connection gives."""

    def fetchone(self) -> Any:
        """Give the next row."""
        ...


class Connection(Protocol):
    """A blocking connection, cursor or session."""

    def execute(self, *args: Any, **kwargs: Any) -> Fetches:
        """Carry out a statement."""
        ...


class Talk(Protocol):
    """One connection in a transaction. ``blocking``: its coroutines never suspend."""

    blocking: bool

    async def begin(self) -> None:
        """See that what is said belongs to a transaction of the caller's; else ``Misuse``."""
        ...

    async def ask(self, statement: str, *values: object) -> Row | None:
        """Carry out a statement, each ``{}`` of which is a value; give its first row."""
        ...


class Seen(NamedTuple):
    """What a thing's classes tell of it."""

    homes: frozenset[str]
    names: frozenset[str]


def carried_out(talk: Talk, story: Coroutine[Any, Any, T]) -> T | Coroutine[Any, Any, T]:
    """Carry a story out at once, or give it to be awaited, as the connection wants it."""
    return run(story) if talk.blocking else story


def talk_with(connection: object) -> Talk:
    """Find out how to speak on ``connection``."""
    seen = _seen(connection)
    if "django" in seen.homes:
        connection = _of_django(connection)
        seen = _seen(connection)
    if "psycopg" in seen.homes:
        from holdfast.postgres import psycopg_talk

        return psycopg_talk.talk_with(connection)
    if "sqlalchemy" in seen.homes:
        from holdfast.postgres import sqlalchemy_talk

        found = sqlalchemy_talk.talk_with(connection, seen.names)
        if found is not None:
            return found
    raise Misuse(
        "give the connection, cursor or session whose transaction it is about, of psycopg 3 or of"
        f" SQLAlchemy, not a {type(connection).__module__}.{type(connection).__qualname__}"
    )


def outside(how: str) -> Misuse:
    """Say that there is no transaction that this could belong to."""
    return Misuse(
        "this connection is in autocommit mode and in no transaction, so what is asked here would"
        f" end at once and protect nothing: {how}"
    )


def _seen(thing: object) -> Seen:
    classes = type(thing).__mro__
    homes = frozenset(kind.__module__.partition(".")[0] for kind in classes)
    return Seen(homes, frozenset(kind.__name__ for kind in classes))


def _of_django(thing: Any) -> object:
    """Give the driver's connection behind ``django.db.connection``, or behind a cursor of it."""
    wrapper = getattr(thing, "db", thing)  # a cursor knows its connection by that name
    if getattr(wrapper, "vendor", "") != "postgresql":
        raise Misuse(f"give Django's connection to a PostgreSQL database, not {type(thing)!r}")
    wrapper.ensure_connection()
    connection: object = wrapper.connection
    return connection
