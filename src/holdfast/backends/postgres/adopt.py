"""Take what people have: a psycopg connection or pool, an engine of SQLAlchemy, Django's settings.

Only its settings are read; holdfast opens connections of its own and never touches theirs. So it
does not matter whether the thing is sync or async, or in the middle of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from psycopg import OperationalError
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
    if hasattr(thing, "dialect") and hasattr(thing, "pool"):
        return _of_engine(thing)
    if hasattr(thing, "conninfo"):  # a pool
        return _of_pool(thing)
    if hasattr(getattr(thing, "info", None), "get_parameters"):
        return _of_connection(thing)
    raise Misuse(
        "give a psycopg connection or pool, an Engine of SQLAlchemy, or one of Django's"
        f" connections, not a {type(thing).__name__}"
    )


def _of_connection(connection: Any) -> Login:
    try:
        told = {**connection.info.get_parameters()}
        password = connection.info.password
    except OperationalError:
        raise Misuse("this connection is closed, so nobody can read where it led to") from None
    if password:
        told["password"] = password
    if told.get("host"):
        told.pop("hostaddr", None)  # what the name meant when it connected: it may move
    return lambda: told


def _of_pool(pool: Any) -> Login:
    if callable(pool.conninfo) or callable(pool.kwargs):
        raise Misuse("this pool makes up its settings for each connection: give a URL instead")
    told = conninfo_to_dict(pool.conninfo, **_plain(pool.kwargs or {}))
    return lambda: _texts(told)


def _of_engine(engine: Any) -> Login:
    if engine.dialect.name != "postgresql":
        raise Misuse(f"this engine is for {engine.dialect.name}: give holdfast a URL of its own")
    told = _connect_args(engine)
    foreign = [word for word in _FOREIGN if told.get(word)]
    if foreign or callable(told.get("password")) or not isinstance(told.get("ssl"), _TLS):
        raise Misuse(
            "this engine connects by a dsn, a function or a TLS context of its own, which libpq"
            " cannot be told: give holdfast a URL, with sslmode and sslrootcert in it"
        )
    tls = told.get("ssl")
    if tls:  # asyncpg's word
        told.setdefault("sslmode", "verify-full" if tls is True else tls)
    if told.get("database"):  # asyncpg's and pg8000's word
        told.setdefault("dbname", told["database"])
    told = _plain(told)
    return lambda: _texts(told)


_TLS = (str, bool, type(None))
_FOREIGN = ("conninfo", "dsn", "ssl_context", "unix_sock")
"""What says where to connect, or how, in words that are not libpq's."""


def _connect_args(engine: Any) -> dict[str, Any]:
    """Give what SQLAlchemy hands to the driver: its URL, and ``connect_args`` on top.

    Only the function by which its pool connects knows both. Where it cannot be looked into, nothing
    is guessed: locks in another database than the engine's would protect nothing.
    """
    creator: Any = getattr(engine.pool, "_creator", None)
    if getattr(creator, "__module__", "") == "sqlalchemy.engine.create":
        code, cells = creator.__code__, creator.__closure__ or ()
        known = dict(zip(code.co_freevars, cells, strict=True))
        if "cparams" in known:
            return dict(known["cparams"].cell_contents)
    raise Misuse(
        "this engine has a creator or a pool of its own, so holdfast cannot read where it leads to:"
        " give a URL instead"
    )


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
    return {
        name: ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for name, value in settings.items()
        if value is not None
    }
