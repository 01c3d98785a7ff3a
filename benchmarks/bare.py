"""What the lock cycle is set against: two transactions through ``sqlite3`` and nothing else.

All three pairs use the pragmas that holdfast sets; the first two work on a file that holdfast made,
and write what holdfast wrote into its row in one of its own cycles:

    bare        begin, read the row, write it, commit; twice
    repeated    the very statements that holdfast executes today, whatever they are
    minimal     insert a row, commit; delete it, commit: the least that could be called a lock
"""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import holdfast
from benchmarks.tap import Statement, tapped

WARM_UP = 5
NAME = "bench"
Pair = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Overheard:
    """One cycle of holdfast's on a file: how it set up its connection, and what it executed."""

    path: Path
    pragmas: tuple[Statement, ...]
    cycle: tuple[Statement, ...]


def bare_pair(overheard: Overheard) -> Pair:
    """Make the pair of transactions that read the row and write it."""
    read = ("SELECT * FROM names WHERE name = ? AND prefix = ?", (NAME, "holdfast"))
    script = []
    for statement in overheard.cycle:
        if _writes(statement):
            script += [("BEGIN IMMEDIATE", ()), read, statement, ("COMMIT", ())]
    return _repeatable(overheard, script)


def repeated_pair(overheard: Overheard) -> Pair:
    """Make the pair that executes what holdfast executes."""
    return _repeatable(overheard, overheard.cycle)


def minimal_pair(path: Path) -> Pair:
    """Make the pair that inserts a row into a small table and deletes it."""
    connection = _opened(path, (("PRAGMA journal_mode = WAL", ()), ("PRAGMA synchronous = 1", ())))
    connection.execute("CREATE TABLE held (name TEXT PRIMARY KEY, holder TEXT) WITHOUT ROWID")
    execute = connection.execute

    def pair() -> None:
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO held VALUES (?, ?)", (NAME, "somebody"))
        execute("COMMIT")
        execute("BEGIN IMMEDIATE")
        execute("DELETE FROM held WHERE name = ?", (NAME,))
        execute("COMMIT")

    return pair


def overhear(path: Path) -> Overheard:
    """Let holdfast make the file and use it; listen to one cycle."""
    with tapped() as tap, holdfast.Client(f"sqlite:///{path}") as client:
        lock = client.lock(NAME)
        for _ in range(WARM_UP):
            with lock:
                pass
        pragmas = [one for one in tap.statements if one[0].startswith("PRAGMA")]
        tap.statements.clear()
        tap.begun_at.clear()
        with lock:
            pass
        cycle, transactions = tap.statements.copy(), len(tap.begun_at)
    if transactions != 2 or sum(map(_writes, cycle)) != 2:
        seen = "; ".join(sql for sql, _ in cycle)
        raise RuntimeError(f"a lock cycle should be two transactions, but was: {seen}")
    return Overheard(path, tuple(pragmas), _closed(cycle))


def _closed(cycle: list[Statement]) -> tuple[Statement, ...]:
    """Let the second write lead back to the version that the first one expects.

    So the pair can be repeated for ever. ``_repeatable`` notices if this was not right.
    """
    (first, second) = (place for place, one in enumerate(cycle) if _writes(one))
    sql, parameters = cycle[second]
    cycle[second] = (sql, (_expected(cycle[first]), *parameters[1:]))
    return tuple(cycle)


def _expected(write: Statement) -> int:
    """Give the version that a write is conditional on: its last parameter; the new one is first."""
    version: int = write[1][-1]
    return version


def _writes(statement: Statement) -> bool:
    return statement[0].startswith("UPDATE")


def _repeatable(overheard: Overheard, script: Iterable[Statement]) -> Pair:
    connection = _opened(overheard.path, overheard.pragmas)
    first = next(one for one in overheard.cycle if _writes(one))
    connection.execute("UPDATE names SET version = ?", (_expected(first),))
    steps = [(sql, parameters, sql.startswith("SELECT")) for sql, parameters in script]
    execute = connection.execute

    def pair() -> None:
        for sql, parameters, reads in steps:
            cursor = execute(sql, parameters)
            if reads:
                cursor.fetchone()

    before = connection.total_changes
    pair()
    pair()
    if connection.total_changes - before != 4:
        raise RuntimeError(f"repeating what holdfast wrote changed nothing: {first[0]}")
    return pair


def _opened(path: Path, pragmas: Iterable[Statement]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for sql, parameters in pragmas:
        connection.execute(sql, parameters)
    return connection
