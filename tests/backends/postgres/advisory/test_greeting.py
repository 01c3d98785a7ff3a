"""The first words: poolers are refused, tables make themselves, numbers only ever grow."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from holdfast import BackendUnavailable, Client, LockLost, Misuse
from holdfast.api.migration import migrate, migration_script
from holdfast.settings import address
from holdfast.testing.watching import eventually
from tests.backends.postgres.advisory.stage import ask
from tests.conformance.advisory_backends import advisory_url
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import shared_postgres

POOLED = 3
"""So many sessions the pooler has."""

OWN = "SELECT pg_backend_pid()"
HOLDING = """
SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND l.mode = 'ExclusiveLock' AND d.datname = current_database()
"""

needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture
def schema() -> Iterator[str]:
    """Give the name of a schema that is not there, and is not there afterwards."""
    name = "advisory_greeting"
    ask(f"DROP SCHEMA IF EXISTS {name} CASCADE")
    yield name
    ask(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def _through(mode: str) -> PgBouncer:
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    return PgBouncer(server.port, mode=mode, size=POOLED)


def _advisory(url: str) -> str:
    return url.replace("postgresql", "postgresql+advisory", 1).rstrip("?")


@needs_pgbouncer
def test_a_transaction_pooler_is_refused() -> None:
    """Its sessions are not ours: nothing is locked, and the way out is named."""
    with _through("transaction") as pooler, Client(_advisory(pooler.url())) as client:
        with pytest.raises(BackendUnavailable, match=r"lease table \(postgresql://…\)") as refused:
            client.lock("x").acquire(wait=0)
        assert not refused.value.transient


@needs_pgbouncer
def test_a_session_pooler_has_to_be_named() -> None:
    """A pooler that gives whole sessions is no trouble, if the user vouches for it."""
    with _through("session") as pooler:
        with Client(_advisory(pooler.url())) as client, pytest.raises(BackendUnavailable):
            client.show("x")
        with Client(_advisory(pooler.url(pooler="session"))) as client, client.lock("x") as lease:
            assert lease.held
            assert client.lock("x").try_acquire() is None


@needs_pgbouncer
def test_a_transaction_pooler_that_was_taken_for_another() -> None:
    """Whoever vouches wrongly loses the lease as soon as another session answers, and hears it."""
    with (
        _through("transaction") as pooler,
        Client(_advisory(pooler.url(pooler="session"))) as client,
        ExitStack() as taken,
    ):
        lease = client.lock("x", ttl=30).acquire()
        mine = _process_that_holds()
        # In a transaction of somebody else's the pooler cannot give it to us: it gives another.
        others: list[psycopg.Connection[tuple[int]]] = []
        while not others or others[-1].execute(OWN).fetchone() != (mine,):
            assert len(others) < POOLED, "the pooler hides the session that holds the lock"
            others.append(taken.enter_context(psycopg.connect(pooler.url())))
        for other in others[:-1]:
            other.rollback()
        with pytest.raises((BackendUnavailable, LockLost)):
            lease.extend(40)
        eventually(lambda: lease.lost, 10.0, "the holder to hear of it")
        with pytest.raises(LockLost):
            lease.check()


def _process_that_holds() -> int:
    """Name the process that has the one lock in the database behind the pooler."""
    ((pid,),) = shared_postgres().ask(HOLDING)
    assert isinstance(pid, int)
    return pid


def test_twenty_at_once_make_the_tables_once(schema: str) -> None:
    """Whoever comes first makes them; nobody stumbles."""
    problems: list[Exception] = []

    def begin() -> None:
        try:
            with Client(advisory_url(f"schema={schema}")) as client:
                client.show("x")
        except BackendUnavailable as error:
            problems.append(error)

    threads = [threading.Thread(target=begin) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_tables_are_made_ahead_of_time(schema: str) -> None:
    """``install=never`` leaves it to ``migrate``, which does nothing the second time."""
    where = address(advisory_url(f"schema={schema}&install=never"))
    with Client(where.url) as client, pytest.raises(BackendUnavailable, match="holdfast migrate"):
        client.show("x")
    assert f"made the schema {schema}" in migrate(where.url)
    assert "nothing to do" in migrate(where.url)
    with Client(where.url) as client, client.lock("x") as lease:
        assert lease.held
    assert migration_script(where.url).count(f"CREATE FUNCTION {schema}.") > 10


def test_tables_that_are_dropped_are_made_again(schema: str) -> None:
    """The locks themselves are PostgreSQL's: they stay, and numbers go on growing."""
    url = advisory_url(f"schema={schema}")
    with Client(url) as client, Client(url) as other:
        lease = client.lock("x", ttl=30).acquire()
        ask(f"DROP SCHEMA {schema} CASCADE")
        assert other.lock("x").try_acquire() is None
        assert lease.held
        lease.extend(40)
        lease.release()
        with other.lock("x", wait=5) as after:
            assert after.token > lease.token


def test_a_server_that_has_forgotten_numbers_is_taken_beyond_them(schema: str) -> None:
    """After a fail-over the sequence may be behind: whoever has seen more goes on from there."""
    url = advisory_url(f"schema={schema}")
    with Client(url) as client:
        with client.lock("x") as lease:
            token = lease.token
        ask(f"SELECT setval('{schema}.tokens', 1000)")
        with client.lock("x") as lease:
            assert lease.token > token
        with Client(url) as other, other.lock("y") as lease:
            assert lease.token > token


@pytest.mark.parametrize(
    "option, words",
    [
        ("quarantine=10s", "unknown option 'quarantine'"),
        ("waits=0", "from 1 to 1000"),
        ("waits=many", "from 1 to 1000"),
        ("pooler=transaction", "choose one of none, session"),
        ("install=perhaps", "choose one of auto, never"),
    ],
)
def test_options_that_cannot_be_right(option: str, words: str) -> None:
    """They are refused when the client is made."""
    with pytest.raises(Misuse, match=words):
        Client(f"postgresql+advisory://localhost/x?{option}")
