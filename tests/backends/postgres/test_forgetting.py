"""Nothing grows for ever: what is idle goes, a few with each new one that comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.rules.bucket_messages import Take, Terms
from holdfast.rules.messages import Busy, Claim, Release, Want, Withdraw
from holdfast.rules.record_messages import Swap
from holdfast.values import Holder
from tests.backends.postgres.differential_server import SCHEMA, ServerSide
from tests.servers.shared_postgres import shared_postgres

HOUR, DAY = 3600, 86_400
HOLDER = Holder("0123456789abcdef", "host", 1)


@pytest.fixture
def side() -> Iterator[ServerSide]:
    """Give a server whose clock the test moves."""
    with ServerSide(shared_postgres()) as one:
        yield one


def _claim(side: ServerSide, name: str, *, ttl: float = 10.0, patience: float = 0.0) -> object:
    claim = Claim(name, f"{name:*>16}", Want("lock", 1, 1, ttl), HOLDER, "", patience)
    statement = side.post.statement(claim)
    return side.read(statement, side.send(statement))[0]


def _ask(side: ServerSide, request: Release | Withdraw | Swap | Take) -> object:
    statement = side.post.statement(request)
    return side.read(statement, side.send(statement))[0]


def _names(side: ServerSide, table: str) -> set[str]:
    statement = f"SELECT DISTINCT name FROM {SCHEMA}.{table} WHERE prefix = %s"  # noqa: S608
    return {name for (name,) in side.rows(statement, side.prefix)}


def test_idle_names_go_after_a_day(side: ServerSide) -> None:
    """Each new name takes up to three of them along, so the table stops growing."""
    for number in range(9):
        _claim(side, f"old {number}")
        _ask(side, Release(f"old {number}", f"old {number}".rjust(16, "*")))
    side.now += HOUR * 20
    _claim(side, "young")
    assert len(_names(side, "seats")) == 10
    side.now += HOUR * 7
    sizes = []
    for number in range(4):
        _claim(side, f"new {number}")
        sizes.append(len(_names(side, "seats")))
    assert sizes == [8, 6, 4, 5]
    assert _names(side, "seats") == {"young", *(f"new {number}" for number in range(4))}


def test_crashed_holders_and_waiters_go_too(side: ServerSide) -> None:
    """What nobody ever gave back or withdrew is over all the same."""
    _claim(side, "crashed")
    _claim(side, "crashed", patience=3.0)
    waiting = Claim("crashed", "w" * 16, Want("lock", 1, 1, 10.0), HOLDER, "", 3.0)
    statement = side.post.statement(waiting)
    side.send(statement)
    assert _names(side, "waiters") == {"crashed"}
    side.now += DAY + 2 * HOUR
    _claim(side, "next")
    assert _names(side, "seats") == {"next"}
    assert _names(side, "waiters") == set()


def test_a_long_lease_stays(side: ServerSide) -> None:
    """A name is idle from the end of its last grant on, not from the last touch."""
    _claim(side, "long", ttl=7 * DAY)
    side.now += 7 * DAY - 1
    _claim(side, "next")
    assert _names(side, "seats") == {"long", "next"}
    again = Claim("long", "o" * 16, Want("lock", 1, 1, 10.0), HOLDER, "", 0.0)
    statement = side.post.statement(again)
    (reply,) = side.read(statement, side.send(statement))
    assert isinstance(reply, Busy)


def test_records_go_when_they_are_over(side: ServerSide) -> None:
    """Those without an end stay."""
    minute = 60_000_000
    _ask(side, Swap("cell", "kept", "a" * 16, b"value", 0))
    _ask(side, Swap("cell", "short", "b" * 16, b"value", 0, keep=minute))
    side.now += 2 * HOUR
    _ask(side, Swap("cell", "next", "c" * 16, b"value", 0))
    assert _names(side, "records") == {"kept", "next"}


def test_buckets_go_when_nothing_is_owed(side: ServerSide) -> None:
    """A limiter per visitor leaves nothing behind."""
    terms = Terms(10, 1_000_000, 10)
    _ask(side, Take("limiter", "visitor", "a" * 16, 5, terms))
    side.now += 3 * HOUR
    _ask(side, Take("limiter", "next", "b" * 16, 5, terms))
    assert _names(side, "buckets") == {"next"}


def test_everyday_updates_touch_no_index(side: ServerSide) -> None:
    """Taking and giving back one name again and again are HOT updates, all but one an hour."""
    _claim(side, "hot")
    before = _updates(side)
    for number in range(200):
        name = "hot"
        _ask(side, Release(name, f"{number - 1:016}" if number else f"{name:*>16}"))
        claim = Claim(name, f"{number:016}", Want("lock", 1, 1, 10.0), HOLDER, "", 0.0)
        side.send(side.post.statement(claim))
    side.rows("SELECT pg_stat_force_next_flush()")
    total, hot = (after - start for after, start in zip(_updates(side), before, strict=True))
    assert total >= 400
    assert hot >= total - 40  # a full page is left now and then, until it is pruned


def _updates(side: ServerSide) -> tuple[int, int]:
    side.rows("SELECT pg_stat_force_next_flush()")
    side.rows("SELECT pg_stat_clear_snapshot()")
    statement = """SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
        WHERE schemaname = %s AND relname = 'seats'"""
    ((total, hot),) = side.rows(statement, SCHEMA)
    return total, hot
