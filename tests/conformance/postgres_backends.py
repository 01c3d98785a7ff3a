"""PostgreSQL as the suite meets it: one server, shared by the tests of one process."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.testing.suite import BackendUnderTest
from holdfast.testing.watching import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import shared_postgres

_SESSIONS = """
SELECT application_name FROM pg_stat_activity
WHERE application_name LIKE 'holdfast %' AND datname = current_database()
"""


@contextmanager
def silenced(_url: str) -> Iterator[None]:
    """Stop the server's processes: they accept everything and answer nothing."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer), "a server that was given is left alone"
    server.pause()
    try:
        yield
    finally:
        server.resume()


def _left(_url: str) -> list[str]:
    """Name the sessions that closed clients have left behind."""
    server = shared_postgres()
    try:
        eventually(lambda: not server.ask(_SESSIONS), 8.0, "no session left")
    except AssertionError:
        return [name for (name,) in server.ask(_SESSIONS)]
    return []


POSTGRES = BackendUnderTest(
    name="postgres",
    schemes=frozenset({"postgresql", "postgres"}),
    fresh=lambda _folder: shared_postgres().url(quarantine=0),
    unreachable=silenced,
    litter=_left,
)
