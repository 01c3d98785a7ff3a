"""Take what people have: a psycopg connection or pool, an engine of SQLAlchemy, Django's settings.

Only its settings are read; holdfast opens connections of its own and never touches theirs. So it
does not matter whether the thing is sync or async, or in the middle of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from holdfast.backends.postgres.target import Target, target
from holdfast.errors import Misuse

Login = Callable[[], Mapping[str, str]]


def adopted(thing: Any, shown: str) -> Target:
    """Read the settings of ``thing``."""
    return target({}, shown, _login(thing))


def _login(thing: Any) -> Login:
    if hasattr(thing, "sync_engine"):  # an AsyncEngine of SQLAlchemy
        thing = thing.sync_engine
    if hasattr(thing, "get_connection_params"):  # one of django.db.connections
        return _of_django(thing)
    if hasattr(thing, "dialect"):
        return _of_engine(thing)
    if hasattr(thing, "conninfo"):  # a pool
        return _of_pool(thing)
    if hasattr(thing, "info"):  # a connection
        told = {**thing.info.get_parameters()}
        if thing.info.password:
            told["password"] = thing.info.password
        return lambda: told
    raise Misuse(
        "give a psycopg connection or pool, an Engine of SQLAlchemy, or one of Django's"
        f" connections, not a {type(thing).__name__}"
    )


def _of_pool(pool: Any) -> Login:
    if callable(pool.conninfo) or callable(pool.kwargs):
        raise Misuse("this pool makes up its settings for each connection: give a URL instead")
    told = conninfo_to_dict(pool.conninfo, **_plain(pool.kwargs or {}))
    return lambda: _texts(told)


def _of_engine(engine: Any) -> Login:
    if engine.dialect.name != "postgresql":
        raise Misuse(f"this engine is for {engine.dialect.name}: give holdfast a URL of its own")
    url = engine.url
    told: dict[str, Any] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "password": None if url.password is None else str(url.password),
        "dbname": url.database,
        **_plain(url.query),
    }
    return lambda: _texts(told)


def _of_django(connection: Any) -> Login:
    if connection.vendor != "postgresql":
        raise Misuse(f"this connection of Django's is for {connection.vendor}: give holdfast a URL")
    told = _plain(connection.get_connection_params())
    return lambda: _texts(told)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is the driver's own affair; libpq knows the rest."""
    from psycopg import pq

    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    return {name: value for name, value in settings.items() if name in known}


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items() if value is not None}
