"""The tables make themselves, once, whoever comes first; or somebody with the right to does it."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from holdfast import BackendUnavailable, Client, Misuse
from holdfast.backends.postgres.schema import VERSION
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import SharedPostgres, shared_postgres

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def schema() -> Iterator[str]:
    """Give a schema that no other test uses."""
    name = f"holdfast_{secrets.token_hex(4)}"
    yield name
    shared_postgres().ask(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def worker() -> Iterator[str]:
    """Give a user who may connect, and nothing else."""
    server, name = shared_postgres(), f"worker_{secrets.token_hex(4)}"
    server.ask(f"CREATE ROLE {name} LOGIN")
    yield name
    server.ask(f"DROP OWNED BY {name}")
    server.ask(f"DROP ROLE {name}")


def _as(user: str, schema: str) -> str:
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    return server.url(user=user, quarantine=0, schema=schema)


def _holdfast(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("holdfast")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def _marks(server: SharedPostgres, schema: str) -> list[tuple[int, int]]:
    return server.ask(f"SELECT {schema}.version(), {schema}.birth()")


def test_twenty_that_start_at_once(schema: str) -> None:
    """One makes the tables, nobody fails, and all of them see the same memory."""
    url = shared_postgres().url(quarantine=0, schema=schema)

    def start(number: int) -> int:
        with Client(url) as client, client.lock(f"name {number % 3}", ttl=30) as lease:
            return lease.token

    with ThreadPoolExecutor(20) as pool:
        tokens = list(pool.map(start, range(20)))
    assert len(set(tokens)) == 20
    assert _marks(shared_postgres(), schema)[0][0] == VERSION


def test_a_worker_needs_no_right_to_make_anything(schema: str, worker: str) -> None:
    """After ``holdfast migrate`` by the owner, the rights on rows are enough for everything."""
    owner = shared_postgres().url(quarantine=0, schema=schema)
    assert _holdfast("migrate", "--url", owner).returncode == 0
    for right in (
        f"USAGE ON SCHEMA {schema}",
        f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema}",
    ):
        shared_postgres().ask(f"GRANT {right} TO {worker}")
    with Client(_as(worker, schema)) as client, Client(owner) as other:
        with client.lock("x", ttl=5) as lease:
            assert other.lock("x").try_acquire() is None
            lease.check()
        with other.lock("x"):
            assert [one.name for one in client.locks()] == ["x"]


def test_a_worker_without_tables_is_told_what_to_do(schema: str, worker: str) -> None:
    """In words, and not again and again."""
    shared_postgres().ask("REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
    with (
        Client(_as(worker, schema)) as client,
        pytest.raises(BackendUnavailable, match="holdfast migrate") as error,
    ):
        client.lock("x").acquire()
    assert error.value.transient is False
    assert error.value.outcome == "none"


def test_install_never_leaves_the_database_alone(schema: str) -> None:
    """Who says so gets an error instead of tables."""
    url = shared_postgres().url(quarantine=0, schema=schema, install="never")
    with Client(url) as client, pytest.raises(BackendUnavailable, match="install=never"):
        client.locks()
    assert shared_postgres().ask("SELECT to_regnamespace(%s)", schema) == [(None,)]


def test_migrating_twice_does_nothing_the_second_time(schema: str) -> None:
    """The birth mark stays, and the words say so."""
    url = shared_postgres().url(schema=schema)
    first, marks = _holdfast("migrate", "--url", url), _marks(shared_postgres(), schema)
    second = _holdfast("migrate", "--url", url)
    assert "made the schema" in first.stdout
    assert "nothing to do" in second.stdout
    assert _marks(shared_postgres(), schema) == marks


def test_the_printed_script_is_what_migrate_does(schema: str) -> None:
    """An administrator can run it as it is; holdfast then finds everything there."""
    url = shared_postgres().url(quarantine=0, schema=schema, install="never")
    printed = _holdfast("migrate", "--sql", "--url", url)
    assert printed.returncode == 0
    with psycopg.connect(shared_postgres().url(), autocommit=True) as connection:
        connection.execute(printed.stdout)
    with Client(url) as client, client.lock("x") as lease:
        assert lease.held


def test_other_backends_have_nothing_to_migrate() -> None:
    """Which is no error: a deployment may say it for all of them."""
    done = _holdfast("migrate", "--url", "memory://")
    assert (done.returncode, "nothing to do" in done.stdout) == (0, True)
    assert _holdfast("migrate", "--sql", "--url", "memory://").returncode != 0


def test_a_newer_schema_is_refused_unless_it_serves_us(schema: str) -> None:
    """Rolling upgrades go on; what does not understand us any more says so."""
    url = shared_postgres().url(quarantine=0, schema=schema)
    with Client(url) as client:
        client.locks()
    newer = f"RETURNS integer LANGUAGE sql IMMUTABLE RETURN {VERSION + 1}"
    shared_postgres().ask(f"CREATE OR REPLACE FUNCTION {schema}.version() {newer}")
    with Client(url) as client, client.lock("x") as lease:
        assert lease.held
    shared_postgres().ask(f"CREATE OR REPLACE FUNCTION {schema}.serves() {newer}")
    with Client(url) as client, pytest.raises(BackendUnavailable, match="upgrade holdfast here"):
        client.lock("x").acquire()


def test_an_older_schema_is_refused_in_words(schema: str) -> None:
    """With the command that mends it."""
    url = shared_postgres().url(quarantine=0, schema=schema)
    with Client(url) as client:
        client.locks()
    older = "RETURNS integer LANGUAGE sql IMMUTABLE RETURN 0"
    shared_postgres().ask(f"CREATE OR REPLACE FUNCTION {schema}.version() {older}")
    with Client(url) as client, pytest.raises(BackendUnavailable, match="holdfast migrate"):
        client.locks()


@pytest.mark.parametrize("name", ["pg_own", "Upper", "a b", "x;drop", "1st", ""])
def test_a_schema_with_an_odd_name_is_refused(name: str) -> None:
    """Before anything is connected: it goes into statements as it is."""
    with pytest.raises(Misuse, match="schema="):
        Client(f"postgresql://localhost/db?schema={name}")


def test_a_schema_that_was_made_for_the_program(schema: str, worker: str) -> None:
    """Whoever owns it may fill it, without the right to make schemas."""
    shared_postgres().ask(f"CREATE SCHEMA {schema} AUTHORIZATION {worker}")
    url = shared_postgres().url(quarantine=0, schema=schema).replace("holdfast@", f"{worker}@", 1)
    with Client(url) as client, client.lock("x") as lease:
        assert lease.held
