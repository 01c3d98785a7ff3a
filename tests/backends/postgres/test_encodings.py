"""A name is the same name whatever encoding a session would use by itself."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from holdfast import Client, LockBusy
from holdfast.postgres import guard
from tests.servers.shared_postgres import shared_postgres


@pytest.fixture
def latin() -> Iterator[str]:
    """Give a role whose sessions speak Latin 1."""
    server, name = shared_postgres(), f"latin_{uuid4().hex[:8]}"
    server.ask(f"CREATE ROLE {name} LOGIN SUPERUSER")
    server.ask(f"ALTER ROLE {name} SET client_encoding = 'LATIN1'")
    yield name
    server.ask(f"DROP ROLE {name}")


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+advisory"])
def test_one_name_in_two_encodings(scheme: str, latin: str) -> None:
    """Who holds it keeps everybody out, and is shown as what it is."""
    url = shared_postgres().url(quarantine=0).replace("postgresql://", f"{scheme}://")
    if scheme == "postgresql+advisory":
        url = url.partition("?")[0]
    as_latin = url.replace("holdfast@", f"{latin}@", 1)
    assert as_latin != url
    name = f"café {uuid4()}"
    with Client(url, holder="José") as first, Client(as_latin) as second, first.lock(name):
        with pytest.raises(LockBusy, match="José"):
            second.lock(name, wait=0).acquire()
        assert name in [info.name for info in second.locks()]


def test_a_database_in_latin_1() -> None:
    """The same name on a connection of the caller's own."""
    server, name = shared_postgres(), f"latin_{uuid4().hex[:8]}"
    server.ask(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = server.url(quarantine=0)
    place, _, query = url.partition("?")
    there = f"{place.rpartition('/')[0]}/{name}"
    try:
        with Client(f"{there}?{query}") as client, client.lock("café") as lease:
            with psycopg.connect(there) as own:
                guard(own, lease)
            assert [info.name for info in client.locks()] == ["café"]
    finally:
        server.ask(f"DROP DATABASE {name} WITH (FORCE)")
