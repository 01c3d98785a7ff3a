"""What people have: psycopg's connections and pools, SQLAlchemy's engines. Theirs stay theirs."""

import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine

from holdfast import AsyncClient, Client, Misuse
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
