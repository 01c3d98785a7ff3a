"""A hand-over in a long queue touches the one who is next, and nobody else in it."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.backends.postgres import schema
from tests.servers.shared_postgres import shared_postgres

SCHEMA = "long_queue"
WAITERS = 500
FIVE = 6
"""After five plans of their own the statements of a session keep a general one."""

CLAIM = f"""SELECT {SCHEMA}.claim('p', 0, %s, %s, 0, 'lock', 1, 1, 60000000, 60000000, '',
    '["client", "host", 1, ""]', NULL, false)"""
FINISH = f"SELECT {SCHEMA}.finish('p', 0, %s, %s, 'r')"
TOUCHED = (
    "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relid = %s::regclass"
)

Session = psycopg.Connection[tuple[str]]


@pytest.fixture
def session() -> Iterator[Session]:
    """Give a session on tables that nobody has used or counted yet."""
    with psycopg.connect(shared_postgres().url(), autocommit=True) as one:
        one.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        one.pgconn.exec_(schema.statements(SCHEMA).encode())
        yield one
        one.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def _said(session: Session, statement: str, *values: str) -> str:
    row = session.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def test_a_hand_over_does_not_read_the_whole_queue(session: Session) -> None:
    """Also with plans that were made when the table was empty, and any of them looked as good."""
    for number in range(FIVE):
        assert '"g"' in _said(session, CLAIM, "small", f"held{number}")
        assert '"w"' in _said(session, CLAIM, "small", f"next{number}")
        assert '"r"' in _said(session, FINISH, "small", f"held{number}")
        assert '"r"' in _said(session, FINISH, "small", f"next{number}")
    _said(session, CLAIM, "large", "holder")
    for number in range(WAITERS):
        _said(session, CLAIM, "large", f"waiter{number:03}")
    with session.transaction():  # in which the counts of this session only grow
        before = int(_said(session, TOUCHED, f"{SCHEMA}.waiters"))
        assert '"r"' in _said(session, FINISH, "large", "holder")
        touched = int(_said(session, TOUCHED, f"{SCHEMA}.waiters")) - before
    assert 1 <= touched < 10
