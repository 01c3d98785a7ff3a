"""The caller's own transaction behind a transaction pooler: it is one session's, so all is well."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast import Client, LockBusy, LockLost
from holdfast.postgres import fence, guard, xact_lock
from tests.postgres.conftest import Ledger
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import shared_postgres

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed"),
    pytest.mark.timeout(60),
]


@pytest.fixture
def pooled() -> Iterator[str]:
    """Give the URL of a transaction pooler with two sessions."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    with PgBouncer(server.port, size=2) as pooler:
        yield pooler.url().removesuffix("?")


def test_behind_a_pooler(
    pooled: str, client: Client, rival: Client, ledger: Ledger, prefix: str
) -> None:
    """Each of the three does what it does elsewhere, and leaves nothing behind in a session."""
    with (
        client.lock("x", on_loss="flag") as lease,
        psycopg.connect(pooled, prepare_threshold=None) as own,
        psycopg.connect(pooled, prepare_threshold=None) as other,
    ):
        xact_lock(own, prefix)
        fence(own, prefix, lease.token)
        own.execute(ledger.writing)
        guard(own, lease)
        with pytest.raises(LockBusy):
            xact_lock(other, prefix, wait="50ms")
        other.commit()
        own.commit()
        xact_lock(other, prefix, wait=0)
        other.commit()
        rival.break_lock("x", token=lease.token, force=True)
        own.execute(ledger.writing)
        with pytest.raises(LockLost):
            guard(own, lease)
        own.commit()
    assert ledger.rows() == 1
