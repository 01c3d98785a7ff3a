"""Records and buckets in a file: beside its locks, over restarts and reboots, and never growing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import clock
from holdfast.backends.sqlite import schema
from holdfast.backends.sqlite.backend import connect
from holdfast.errors import BackendUnavailable
from holdfast.ports import Wire
from holdfast.rules.bucket_messages import GiveBack, Short, Take, Terms, Took
from holdfast.rules.messages import Reply, Request
from holdfast.rules.record import REMEMBERED_FOR
from holdfast.rules.record_messages import Entry, Get, Moved, Swap, Swapped
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.testing.suite.wires import fresh_id
from holdfast.testing.watching import eventually
from holdfast.values import Holder

HOUR = 3_600_000_000
SLOW = Terms(10, HOUR, 10)
GET = Get("cell", "x")
SWAP = Swap("cell", "x", "one", b"value", 0)
TAKE = Take("limiter", "x", "one", 10, SLOW)

COUNT = """
import sys
from tests.backends.sqlite.test_families import raise_counter
raise_counter(sys.argv[1], 40)
"""


class File:
    """One file, the wire to it, and a way past the wire."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wire = wire_to(str(path))

    def ask(self, request: Request) -> Reply:
        """Ask one thing."""
        return run(self.wire.ask(request, clock.now() + 5))

    def sql(self, statement: str, *cells: object) -> list[Any]:
        """Do something to the file that holdfast would not."""
        with closing(sqlite3.connect(self.path, timeout=5)) as connection, connection:
            return connection.execute(statement, cells).fetchall()

    def reopen(self) -> None:
        """Go on with a new connection."""
        self.wire.close()
        self.wire = wire_to(str(self.path))


def wire_to(path: str) -> Wire:
    """Open the way in for threads."""
    backend = connect(address(f"sqlite:///{path}"), "holdfast")
    return backend.sync_wire(Holder("client", "host", 1))


def raise_counter(path: str, times: int) -> None:
    """Add to the number in ``x``, as one of several processes."""
    wire = wire_to(path)
    for _ in range(times):
        entry = run(wire.ask(GET, clock.now() + 10))
        while isinstance(entry, Entry):
            value = b"%d" % (int(entry.value or b"0") + 1)
            swap = Swap("cell", "x", fresh_id(), value, entry.version)
            reply = run(wire.ask(swap, clock.now() + 10))
            entry = reply.entry if isinstance(reply, Moved) else reply
    wire.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    """Give a file that does not exist yet."""
    file = File(tmp_path / "locks.db")
    yield file
    file.wire.close()


def test_a_file_for_locks_alone_stays_as_it_was(file: File) -> None:
    """Neither a lock nor a look at a record makes a table that an older holdfast does not know."""
    with holdfast.Client(f"sqlite:///{file.path}") as client, client.lock("x"):
        assert isinstance(file.ask(GET), Entry)
    tables = {name for (name,) in file.sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"meta", "names"}
    assert file.sql("SELECT value FROM meta WHERE key = 'families'") == []


def test_the_locks_of_an_older_holdfast_go_on_beside_records(file: File) -> None:
    """The schema of the locks is the same before and after: older programs are not locked out."""
    with holdfast.Client(f"sqlite:///{file.path}") as client, client.lock("x") as lease:
        assert isinstance(file.ask(SWAP), Swapped)
        assert isinstance(file.ask(TAKE), Took)
        lease.check()
        assert [info.name for info in client.locks()] == ["x"]
    assert file.sql("SELECT value FROM meta WHERE key = 'schema'") == [(1,)]
    assert schema.SCHEMA_VERSION == 1


def test_what_is_kept_outlives_the_program_and_the_boot(file: File) -> None:
    """Leases end with the boot; values do not, and what was taken from a bucket stays taken."""
    done = file.ask(SWAP)
    file.ask(TAKE)
    file.sql("UPDATE meta SET value = 'another boot' WHERE key = 'boot'")
    file.reopen()
    seen = file.ask(GET)
    assert isinstance(done, Swapped)
    assert isinstance(seen, Entry)
    assert (seen.value, seen.version) == (b"value", done.version)
    assert isinstance(file.ask(TAKE._replace(take_id="two")), Short)


def test_a_file_that_was_replaced_is_used_anew(file: File) -> None:
    """Tables that were there in the old file are made in the new one."""
    file.ask(SWAP)
    for path in file.path.parent.glob("locks.db*"):
        path.unlink()
    deadline = clock.now() + 5
    while clock.now() < deadline:  # it looks at the path ten times a second
        entry = file.ask(GET)
        assert isinstance(entry, Entry)
        if entry.value is None:
            break
    assert isinstance(file.ask(SWAP._replace(swap_id="two")), Swapped)


@pytest.mark.parametrize("table", ["records", "buckets"])
def test_tables_do_not_grow_with_what_has_ended(file: File, table: str) -> None:
    """Rows whose time is over are taken along by later writes, a few at a time."""
    for number in range(60):
        file.ask(SWAP._replace(name=f"{number}", keep=HOUR))
        file.ask(TAKE._replace(name=f"{number}"))
    file.sql(f"UPDATE {table} SET forget_at = 1 WHERE name <> '0'")  # noqa: S608 - constants
    for number in range(40):
        file.ask(SWAP._replace(name=f"later {number}", keep=HOUR))
        file.ask(TAKE._replace(name=f"later {number}"))
    names = {name for (name,) in file.sql(f"SELECT name FROM {table}")}  # noqa: S608 - constants
    assert names == {"0", *(f"later {number}" for number in range(40))}


@pytest.mark.parametrize("table", ["records", "buckets"])
def test_what_has_ended_goes_though_nobody_writes_any_more(file: File, table: str) -> None:
    """Whoever uses the file for something else takes it along, once an hour."""
    file.ask(SWAP._replace(keep=HOUR))
    file.ask(TAKE)
    file.sql(f"UPDATE {table} SET forget_at = 1")  # noqa: S608 - constants
    with holdfast.Client(f"sqlite:///{file.path}") as client, client.lock("x"):
        eventually(lambda: file.sql(f"SELECT * FROM {table}") == [], 5.0, "an empty table")  # noqa: S608


def test_a_swap_is_on_the_disk_before_it_is_answered(file: File) -> None:
    """A power cut must not take back a result; for leases and permits nobody waits for the disk."""
    file.ask(GET)
    store = file.wire._store  # type: ignore[attr-defined]
    said: list[str] = []
    store._connection.set_trace_callback(said.append)
    file.ask(SWAP)
    assert [one for one in said if one.startswith(("PRAGMA", "BEGIN", "COMMIT"))] == [
        "PRAGMA synchronous = FULL",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "PRAGMA synchronous = NORMAL",
    ]
    said.clear()
    file.ask(TAKE)
    file.ask(GET)
    assert not [one for one in said if one.startswith("PRAGMA")]
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (1,)


def test_an_empty_bucket_has_no_row(file: File) -> None:
    """What was given back to the last permit leaves nothing."""
    file.ask(TAKE)
    assert len(file.sql("SELECT * FROM buckets")) == 1
    file.ask(GiveBack("limiter", "x", "one"))
    assert file.sql("SELECT * FROM buckets") == []


def test_rows_know_when_they_may_go(file: File) -> None:
    """A value for ever has no end; others go a minute after it, and buckets when they are empty."""
    file.ask(SWAP)
    file.ask(SWAP._replace(name="y", keep=HOUR))
    file.ask(TAKE)
    rows = dict(file.sql("SELECT name, forget_at FROM records"))
    assert rows["x"] is None
    assert rows["y"] == pytest.approx(time.time() * 1e6 + HOUR + REMEMBERED_FOR, abs=60e6)
    ((empty_at,),) = file.sql("SELECT forget_at FROM buckets")
    assert empty_at == pytest.approx(time.time() * 1e6 + HOUR, abs=60e6)


def test_versions_start_above_what_was_forgotten(file: File) -> None:
    """Though the wall clock went back since: the file remembers how high they were."""
    future = time.time_ns() // 1000 + 10 * HOUR
    file.ask(SWAP._replace(keep=1))
    file.sql("UPDATE records SET version = ?, forget_at = 1", future)
    file.ask(SWAP._replace(name="another"))
    assert file.sql("SELECT name FROM records") == [("another",)]
    after = file.ask(SWAP._replace(swap_id="two"))
    assert isinstance(after, Swapped)
    assert after.version == future + 1


@pytest.mark.parametrize("asked", [GET, SWAP, TAKE], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE meta SET value = 99 WHERE key = 'families'",
        "UPDATE records SET format = 99",
        "UPDATE buckets SET format = 99",
    ],
)
def test_a_newer_holdfast_is_named(file: File, asked: Request, change: str) -> None:
    """Tables or rows from the future are refused, saying so, and locks go on."""
    file.ask(SWAP)
    file.ask(TAKE)
    file.sql(change)
    file.reopen()
    concerned = "meta" in change or ("records" in change) == isinstance(asked, (Get, Swap))
    if concerned:
        with pytest.raises(BackendUnavailable, match="newer holdfast") as refused:
            file.ask(asked)
        assert not refused.value.transient
    else:
        file.ask(asked)
    with holdfast.Client(f"sqlite:///{file.path}") as client, client.lock("x"):
        pass


@pytest.mark.parametrize(
    "asked, change",
    [
        (SWAP._replace(swap_id="one"), "UPDATE records SET swaps = 'one nonsense;'"),
        (SWAP._replace(swap_id="one"), "UPDATE records SET swaps = 'one 1'"),
        (GET, "UPDATE records SET ends_at = 'soon'"),
        (TAKE, "UPDATE buckets SET takes = 'one nonsense;'"),
        (TAKE, "UPDATE buckets SET owed = 'much'"),
    ],
)
def test_a_row_that_makes_no_sense(file: File, asked: Request, change: str) -> None:
    """What somebody has edited by hand is an error in words."""
    file.ask(SWAP)
    file.ask(TAKE)
    file.sql(change)
    with pytest.raises(BackendUnavailable, match="somebody else has written into the file"):
        file.ask(asked)


def test_processes_do_not_lose_each_others_updates(file: File) -> None:
    """Three processes raise one number: it has been raised by all of them."""
    command = [sys.executable, "-c", COUNT, str(file.path)]
    with ExitStack() as stack:
        crew = [stack.enter_context(subprocess.Popen(command)) for _ in range(3)]
        assert [one.wait() for one in crew] == [0, 0, 0]
    seen = file.ask(GET)
    assert isinstance(seen, Entry)
    assert seen.value == b"120"
