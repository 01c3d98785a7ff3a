"""A schema may be called like a word of SQL's own: its name is quoted wherever it is said."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, Misuse
from holdfast.api.migration import migration_script
from holdfast.backends.postgres.schema import VERSION
from holdfast.backends.postgres.spelling import WORDS
from holdfast.backends.postgres.target import target_of
from holdfast.postgres import fence, guard
from holdfast.settings import address
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SOME = ("order", "current_date", "between", "left", "loop")
"""Of every kind: reserved in one way or another, and a word of functions only."""


@pytest.fixture
def database() -> Iterator[str]:
    """Give a database of its own: another test's schema may have the same name."""
    name = f"words_{secrets.token_hex(4)}"
    shared_postgres().ask(f"CREATE DATABASE {name}")
    yield shared_postgres().url(dbname=name, quarantine=0)
    shared_postgres().ask(f"DROP DATABASE {name} WITH (FORCE)")


def _migrate(*words: str) -> str:
    command = [str(Path(sys.executable).with_name("holdfast")), "migrate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("word", SOME)
async def test_a_schema_called_like_a_word_of_sql(database: str, word: str) -> None:
    """The tables make themselves in it, and leases, listings and transactions find them there."""
    url = f"{database}&schema={word}"
    async with AsyncClient(url) as other:
        with Client(url) as client, client.lock("x") as lease:
            assert await other.lock("x").try_acquire() is None
            assert [one.name for one in client.locks()] == ["x"]
            with psycopg.connect(database.partition("&quarantine")[0]) as connection:
                guard(connection, lease)
                fence(connection, "resource", lease.token, schema=word)


@pytest.mark.parametrize("word", SOME)
def test_advisory_locks_in_such_a_schema(database: str, word: str) -> None:
    """They are explained by tables of their own, in a schema that may be called so too."""
    url = database.replace("postgresql:", "postgresql+advisory:").replace("&quarantine=0", "")
    with Client(f"{url}&schema={word}") as client, client.lock("x"):
        assert [one.name for one in client.locks()] == ["x"]


@pytest.mark.parametrize("word", SOME)
def test_migrating_such_a_schema(database: str, word: str) -> None:
    """By itself or by hand; what is printed says the name as SQL wants it."""
    url = f"{database}&schema={word}"
    with psycopg.connect(database.partition("&quarantine")[0], autocommit=True) as connection:
        connection.execute(_migrate("--sql", "--url", url))
    assert f'the schema "{word}" is of version {VERSION}: nothing to do' in _migrate("--url", url)
    with Client(f"{url}&install=never") as client, client.lock("x") as lease:
        assert lease.held


def test_what_is_missing_is_called_by_its_name(database: str) -> None:
    """As it has to be written in the statements that mend it."""
    with (
        Client(f"{database}&schema=order&install=never") as client,
        pytest.raises(BackendUnavailable, match='no schema "order"'),
    ):
        client.lock("x").acquire()


def test_every_such_word_of_the_server_is_known() -> None:
    """A newer PostgreSQL has more of them; this test says which are yet to be learnt."""
    found = shared_postgres().ask("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'")
    assert {word for (word,) in found} <= WORDS


@pytest.mark.parametrize("name", ["holdfast", "locks", "orders", "order_locks", "_x1"])
def test_other_names_stay_as_they_were(name: str) -> None:
    """Without quotes, so that every statement is the same as ever, to the byte."""
    url = f"postgresql://localhost/db?schema={name}"
    assert target_of(address(url)).schema == name
    assert f"CREATE SCHEMA {name};" in migration_script(url)


@pytest.mark.parametrize("name", ["Order", '"order"', 'a"b', "pg_order", "größe"])
def test_what_people_read_in_two_ways_is_refused(name: str) -> None:
    """Without quotes SQL would make another name of it; so nobody has to guess which is meant."""
    with pytest.raises(Misuse, match="lower-case letters"):
        Client(f"postgresql://localhost/db?schema={quote(name)}")
