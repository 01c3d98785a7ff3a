"""A database whose tables an earlier version made: brought up to date, or used as it is."""

import secrets
from collections.abc import Iterator
from importlib.resources import files

import psycopg
import pytest

from holdfast import BackendUnavailable, Client
from holdfast.backends.postgres import schema as schemas
from holdfast.postgres import fence, guard
from tests.backends.postgres.test_schema import _as, _holdfast, _marks, worker
from tests.servers.shared_postgres import shared_postgres

pytestmark = pytest.mark.timeout(60)

__all__ = ["worker"]  # a fixture


@pytest.fixture
def old() -> Iterator[str]:
    """Give a schema as version 1 made it, with something in it."""
    name = f"holdfast_{secrets.token_hex(4)}"
    folder = files("holdfast.backends.postgres") / "schema"
    parts = sorted(part.name for part in folder.iterdir() if part.name.endswith(".sql"))
    text = "\n".join((folder / part).read_text("utf-8") for part in parts)
    with psycopg.connect(shared_postgres().url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name};" + text.replace("holdfast.", f"{name}."))
    assert _marks(shared_postgres(), name)[0][0] == 1
    yield name
    shared_postgres().ask(f"DROP SCHEMA {name} CASCADE")


def _version(schema: str) -> int:
    return _marks(shared_postgres(), schema)[0][0]


def test_the_first_use_brings_it_up(old: str) -> None:
    """Whoever may change it does, once; what was held is held, and the memory is the same."""
    url = shared_postgres().url(quarantine=0, schema=old, install="never")
    with Client(url) as before:
        lease = before.lock("x").acquire()
        assert _version(old) == 1
        birth = _marks(shared_postgres(), old)[0][1]
        with Client(shared_postgres().url(quarantine=0, schema=old)) as after:
            assert after.lock("x").try_acquire() is None
            assert _marks(shared_postgres(), old) == [(schemas.VERSION, birth)]
        with psycopg.connect(shared_postgres().url()) as own:
            guard(own, lease)
            fence(own, "x", lease.token, schema=old)
        lease.release()


def test_migrate_brings_it_up(old: str) -> None:
    """And says from where to where; a second time there is nothing to do."""
    url = shared_postgres().url(schema=old)
    assert f"from version 1 to {schemas.VERSION}" in _holdfast("migrate", "--url", url).stdout
    assert "nothing to do" in _holdfast("migrate", "--url", url).stdout
    assert _version(old) == schemas.VERSION


def test_the_printed_script_since_a_version(old: str) -> None:
    """An administrator is given only what is lacking."""
    url = shared_postgres().url(schema=old)
    printed = _holdfast("migrate", "--sql", "--since", "1", "--url", url)
    assert "CREATE SCHEMA" not in printed.stdout
    with psycopg.connect(shared_postgres().url(), autocommit=True) as connection:
        connection.execute(printed.stdout)
    assert _version(old) == schemas.VERSION


def test_a_since_that_makes_no_sense() -> None:
    """Nothing is printed that would do harm."""
    for words in (("--sql", "--since", str(schemas.VERSION)), ("--sql", "--since", "-1")):
        done = _holdfast("migrate", *words, "--url", "postgresql://localhost/db")
        assert (done.returncode, done.stdout) != (0, "")
        assert "nothing to do since version" in done.stderr
    alone = _holdfast("migrate", "--since", "1", "--url", "postgresql://localhost/db")
    assert "--since goes with --sql" in alone.stderr


def test_who_may_not_change_it_works_on_it_as_it_is(old: str, worker: str) -> None:
    """Leases work; what needs the newer one says so; migrate by such a user says why not."""
    for right in (
        f"USAGE ON SCHEMA {old}",
        f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {old}",
    ):
        shared_postgres().ask(f"GRANT {right} TO {worker}")
    with Client(_as(worker, old)) as client, client.lock("x") as lease:
        assert any("of version 1" in note for note in client.capabilities.notes)
        with psycopg.connect(shared_postgres().url()) as own:
            with pytest.raises(BackendUnavailable, match="holdfast migrate"):
                guard(own, lease)
            own.rollback()
    assert _version(old) == 1
    refused = _holdfast("migrate", "--url", _as(worker, old))
    assert refused.returncode != 0
    assert "is of version 1" in refused.stderr
