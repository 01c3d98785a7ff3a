"""A client of the lease table, a rival, and a table of somebody's own to write into."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from holdfast import Client
from tests.servers.shared_postgres import shared_postgres

BORN_LONG_AGO = (
    "CREATE OR REPLACE FUNCTION holdfast.born_on() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 0"
)


@dataclass(frozen=True)
class Ledger:
    """A table: what was committed is in it."""

    table: str

    @property
    def writing(self) -> str:
        """The statement that adds a row."""
        return f"INSERT INTO {self.table} VALUES (1)"  # noqa: S608 - our own name

    def rows(self) -> int:
        """Count what was committed."""
        (count,) = shared_postgres().ask(f"SELECT count(*) FROM {self.table}")[0]  # noqa: S608
        assert isinstance(count, int)
        return count


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Give an empty table of this test's own."""
    table = f"ledger_{secrets.token_hex(6)}"
    shared_postgres().ask(f"CREATE TABLE {table} (entry int)")
    yield Ledger(table)
    shared_postgres().ask(f"DROP TABLE {table}")


@pytest.fixture
def prefix() -> str:
    """Give a prefix of this test's own."""
    return f"t{secrets.token_hex(6)}"


@pytest.fixture
def client(prefix: str) -> Iterator[Client]:
    """Give a client of the lease table; it has seen to it that the tables are there."""
    with Client(shared_postgres().url(quarantine=0), prefix=prefix) as one:
        one.locks()
        yield one


@pytest.fixture
def rival(prefix: str) -> Iterator[Client]:
    """Give another client with the same names."""
    with Client(shared_postgres().url(quarantine=0), prefix=prefix) as one:
        yield one


@pytest.fixture
def aged(client: Client) -> None:  # noqa: ARG001 - it has made the tables
    """Adopted settings have the usual quarantine: let the server be old enough for it."""
    shared_postgres().ask(BORN_LONG_AGO)
