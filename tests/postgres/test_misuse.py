"""What cannot be right is refused in words that say what to do, and costs no transaction."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from holdfast import BackendUnavailable, Client, LockLost, Misuse
from holdfast.postgres import fence, guard, xact_lock
from holdfast.postgres.refusals import state_of
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]  # the first test starts a server

ALCHEMY = "postgresql+psycopg://"


@pytest.fixture(params=["guard", "fence", "xact_lock"])
def helper(request: pytest.FixtureRequest, client: Client) -> Iterator[Callable[[Any], Any]]:
    """Give each of the three, ready for a connection."""
    with client.lock("x") as lease:
        yield {
            "guard": lambda given: guard(given, lease),
            "fence": lambda given: fence(given, "x", lease.token),
            "xact_lock": lambda given: xact_lock(given, "x"),
        }[request.param]


@contextmanager
def _engine(**options: Any) -> Iterator[sqlalchemy.Engine]:
    url = shared_postgres().url().replace("postgresql://", ALCHEMY)
    yield sqlalchemy.create_engine(url, poolclass=NullPool, **options)


def test_autocommit_in_psycopg(helper: Callable[[Any], Any]) -> None:
    """Outside a transaction it would end at once; inside ``transaction()`` it is fine."""
    with psycopg.connect(shared_postgres().url(), autocommit=True) as own:
        with pytest.raises(Misuse, match=r"connection\.transaction\(\)"):
            helper(own)
        with pytest.raises(Misuse, match=r"connection\.transaction\(\)"):
            helper(own.cursor())
        with own.transaction():
            helper(own)


def test_pipeline_mode(helper: Callable[[Any], Any]) -> None:
    """There a refusal would come later than the call, so it is refused at once."""
    with psycopg.connect(shared_postgres().url()) as own:
        with own.pipeline(), pytest.raises(Misuse, match="pipeline"):
            helper(own)
        helper(own)


async def test_autocommit_in_async_psycopg(helper: Callable[[Any], Any]) -> None:
    """The same, once it is awaited."""
    url = shared_postgres().url()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as own:
        with pytest.raises(Misuse, match="async with"):
            await helper(own)
        async with own.transaction():
            await helper(own)


def test_autocommit_in_sqlalchemy(helper: Callable[[Any], Any]) -> None:
    """Whether the engine or the connection was made so."""
    with _engine(isolation_level="AUTOCOMMIT") as engine:
        with engine.connect() as own, pytest.raises(Misuse, match="AUTOCOMMIT"):
            helper(own)
        with Session(engine) as session, pytest.raises(Misuse, match="AUTOCOMMIT"):
            helper(session)
    with _engine() as engine, engine.connect() as own:
        own = own.execution_options(isolation_level="AUTOCOMMIT")  # noqa: PLW2901
        with pytest.raises(Misuse, match="AUTOCOMMIT"):
            helper(own)


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_autocommit_in_async_sqlalchemy(driver: str, helper: Callable[[Any], Any]) -> None:
    """With either driver."""
    url = shared_postgres().url().replace("postgresql://", f"postgresql+{driver}://")
    engine = create_async_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    async with engine.connect() as own:
        with pytest.raises(Misuse, match="AUTOCOMMIT"):
            await helper(own)


def test_what_is_no_connection(helper: Callable[[Any], Any]) -> None:
    """An engine or a pool has many; a transaction is on one."""
    pool = psycopg_pool.ConnectionPool(shared_postgres().url(), open=False)
    with _engine() as engine:
        for given in (engine, pool, shared_postgres().url(), None, object()):
            with pytest.raises(Misuse, match="give the connection, cursor or session"):
                helper(given)
    with pytest.raises(Misuse, match="give a connection or a cursor of psycopg"):
        helper(psycopg.sql.SQL("SELECT 1"))


def test_another_database_system(helper: Callable[[Any], Any]) -> None:
    """SQLAlchemy speaks to many; these three only to PostgreSQL."""
    engine = sqlalchemy.create_engine("sqlite://", poolclass=NullPool)
    with engine.connect() as own, pytest.raises(Misuse, match="leads to sqlite"):
        helper(own)


def test_a_lease_of_another_backend() -> None:
    """Its row is not in this database: the fence is what it can have."""
    with (
        Client("memory://misuse") as elsewhere,
        elsewhere.lock("x") as lease,
        psycopg.connect(shared_postgres().url()) as own,
        pytest.raises(Misuse, match=r"one of memory.*fence\(connection"),
    ):
        guard(own, lease)


@pytest.mark.parametrize("thing", [None, "x", 7])
def test_what_is_no_lease(thing: Any) -> None:
    """A token or a name is not enough to know what is held."""
    with (
        psycopg.connect(shared_postgres().url()) as own,
        pytest.raises(Misuse, match="guard needs the lease"),
    ):
        guard(own, thing)


def test_a_lease_of_another_database(client: Client) -> None:
    """Without holdfast's tables, and with others of the same name: both are said in words."""
    server = shared_postgres()
    server.ask("DROP DATABASE IF EXISTS another")
    server.ask("CREATE DATABASE another")
    url = server.url().replace("/postgres", "/another")
    with client.lock("x") as lease:
        with psycopg.connect(url) as own, pytest.raises(BackendUnavailable, match="right database"):
            guard(own, lease)
        with Client(f"{url}?quarantine=0") as another:
            another.locks()
        with psycopg.connect(url) as own, pytest.raises(LockLost, match="another database"):
            guard(own, lease)
    server.ask("DROP DATABASE another WITH (FORCE)")


def test_nothing_is_imported_that_nobody_brought() -> None:
    """Neither driver nor toolkit comes with ``holdfast.postgres``."""
    program = "import sys, holdfast.postgres; print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "holdfast" in loaded
    assert {"psycopg", "sqlalchemy", "django", "asyncio"}.isdisjoint(loaded)


def test_the_state_of_an_error_of_pg8000() -> None:
    """It keeps it in a mapping, as the first argument; SQLAlchemy wraps the whole."""
    told = Exception({"S": "ERROR", "C": "HF001", "M": "not held"})
    wrapped = sqlalchemy.exc.ProgrammingError("SELECT 1", {}, told)
    assert state_of(told) == state_of(wrapped) == "HF001"
    assert state_of(Exception()) == state_of(Exception("HF001")) == ""
