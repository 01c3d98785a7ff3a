"""The PostgreSQL of the tests does what they rely on: it restarts, pauses, and leaves nothing."""

import select

import pytest
from psycopg import pq

from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.timeout(60)


def test_it_keeps_data_and_port_over_restarts() -> None:
    """Killed or stopped, it comes back on its port with what was committed."""
    with PostgresServer() as server:
        folder, port = server.folder, server.port
        server.ask("CREATE TABLE kept (number int)")
        server.ask("INSERT INTO kept VALUES (%s)", 42)
        server.restart(killed=True)
        server.restart()
        assert server.ask("SELECT number FROM kept") == [(42,)]
        assert server.port == port
    assert not folder.exists()


def test_paused_it_is_silent_and_resumed_it_answers() -> None:
    """All of its processes stop, not only the first: an open connection gets no answer."""
    with PostgresServer() as server:
        connection = pq.PGconn.connect(server.url().encode())
        server.pause()
        connection.send_query(b"SELECT 1")
        ready, _, _ = select.select([connection.socket], [], [], 0.3)
        server.resume()
        result = connection.get_result()
        connection.finish()
        assert ready == []
        assert result is not None
        assert result.get_value(0, 0) == b"1"
