"""What people have: psycopg's connections and pools, SQLAlchemy's engines. Theirs stay theirs."""

import ssl
from typing import Any

import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from holdfast import AsyncClient, Client, Misuse
from holdfast.backends.postgres.adopt import adopted
from tests.servers.shared_postgres import shared_postgres


@pytest.fixture(autouse=True)
def installed() -> None:
    """Adopted settings have the usual quarantine: let the tables be there, and be old enough."""
    with Client(shared_postgres().url(quarantine=0)) as first:
        first.locks()
    born_long_ago = "RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 0"
    shared_postgres().ask(f"CREATE OR REPLACE FUNCTION holdfast.born_on() {born_long_ago}")


def _works(client: Client) -> None:
    with client, client.lock("adopted") as lease:
        assert lease.held
        assert client.show("adopted").held


def test_a_connection_in_the_middle_of_a_transaction() -> None:
    """Its settings are read; its transaction goes on, untouched."""
    with psycopg.connect(shared_postgres().url()) as theirs:
        theirs.execute("CREATE TEMPORARY TABLE own (number int) ON COMMIT DROP")
        _works(Client(theirs))
        theirs.execute("INSERT INTO own VALUES (1)")
        assert theirs.execute("SELECT number FROM own").fetchall() == [(1,)]


def test_a_pool() -> None:
    """A pool lends nothing: all its connections are still there for its owner."""
    with psycopg_pool.ConnectionPool(
        shared_postgres().url(), min_size=1, max_size=1, kwargs={"autocommit": True}
    ) as pool:
        _works(Client(pool))
        with pool.connection(timeout=5) as theirs:
            assert theirs.execute("SELECT 1").fetchone() == (1,)


def test_a_pool_that_makes_up_its_settings_is_refused() -> None:
    """A function has no settings that could be read."""
    pool = psycopg_pool.ConnectionPool(lambda: shared_postgres().url(), open=False)
    with pytest.raises(Misuse, match="give a URL"):
        Client(pool)


def test_an_engine() -> None:
    """An Engine's URL, without its driver, is the database's; nothing is checked out of it."""
    url = shared_postgres().url().replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(url)
    _works(Client(engine))
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    engine.dispose()


@pytest.mark.anyio
async def test_an_async_engine() -> None:
    """The same with an AsyncEngine and an AsyncClient."""
    url = shared_postgres().url().replace("postgresql://", "postgresql+psycopg://")
    engine = create_async_engine(url)
    async with AsyncClient(engine) as client, client.lock("adopted") as lease:
        assert lease.held
    await engine.dispose()


def test_an_engine_for_something_else_is_refused() -> None:
    """In words, when the client is made."""
    with pytest.raises(Misuse, match="sqlite"):
        Client(sqlalchemy.create_engine("sqlite://"))


def test_a_password_is_not_shown() -> None:
    """Whatever was read, no password comes out in a repr."""
    engine = sqlalchemy.create_engine("postgresql+psycopg://me:secret@nowhere:1/db")
    assert "secret" not in repr(Client(engine))


def _told(thing: object) -> dict[str, str]:
    """Give what libpq is told on behalf of ``thing``."""
    return dict(adopted(thing, "").login())


def test_connect_args_of_an_engine_count() -> None:
    """They win over its URL, as they do when it connects: the same database, the same TLS."""
    url = "postgresql+psycopg://me:secret@host:5433/one"
    terms = {"dbname": "two", "sslmode": "verify-full", "prepare_threshold": None}
    told = _told(sqlalchemy.create_engine(url, connect_args=terms))
    assert (told["dbname"], told["sslmode"], told["host"]) == ("two", "verify-full", "host")
    assert (told["port"], told["user"], told["password"]) == ("5433", "me", "secret")
    assert "prepare_threshold" not in told


@pytest.mark.parametrize(
    "url, host, port",
    [
        ("postgresql+psycopg:///db?host=a:5433", "a", "5433"),
        ("postgresql+psycopg:///db?host=a:1&host=b:2", "a,b", "1,2"),
        ("postgresql+asyncpg:///db?host=a:1&host=b:2", "a,b", "1,2"),
    ],
)
def test_hosts_as_sqlalchemy_writes_them(url: str, host: str, port: str) -> None:
    """Also several of them."""
    engine = create_async_engine(url) if "asyncpg" in url else sqlalchemy.create_engine(url)
    told = _told(engine)
    assert (told["host"], told["port"], told["dbname"]) == (host, port, "db")


def test_the_words_of_asyncpg() -> None:
    """It calls the database and TLS otherwise than libpq."""
    told = _told(create_async_engine("postgresql+asyncpg://me@host/db?ssl=require"))
    assert (told["dbname"], told["sslmode"]) == ("db", "require")
    told = _told(create_async_engine("postgresql+asyncpg://me@host/db", connect_args={"ssl": True}))
    assert told["sslmode"] == "verify-full"


@pytest.mark.parametrize(
    "terms",
    [
        {"creator": lambda: None},
        {"connect_args": {"ssl": ssl.create_default_context()}},
        {"pool": sqlalchemy.NullPool(lambda: None)},  # type: ignore[arg-type]  # never called
    ],
)
def test_an_engine_whose_settings_cannot_be_read_is_refused(terms: dict[str, Any]) -> None:
    """Nothing is guessed: locks in another database would protect nothing."""
    engine = sqlalchemy.create_engine("postgresql+psycopg://me@host/db", **terms)
    with pytest.raises(Misuse, match=r"give (holdfast )?a URL"):
        Client(engine)


def test_what_is_no_engine_is_refused() -> None:
    """A connection of SQLAlchemy's, a session, and a connection that is closed."""
    url = shared_postgres().url().replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection, Session(engine) as session:
        for thing in (connection, session):
            with pytest.raises(Misuse, match="an Engine of SQLAlchemy"):
                Client(thing)
    engine.dispose()
    with psycopg.connect(shared_postgres().url()) as theirs:
        pass
    with pytest.raises(Misuse, match="is closed"):
        Client(theirs)


def test_a_connection_is_followed_by_its_name() -> None:
    """Not by the address that the name had when it connected."""
    with psycopg.connect(shared_postgres().url().replace("127.0.0.1", "localhost")) as theirs:
        told = _told(theirs)
    assert told["host"] == "localhost"
    assert "hostaddr" not in told
