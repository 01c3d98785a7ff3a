"""Five replicas start at the same moment, and each would migrate the database: it is done once.

All take one lock; whoever has it looks what is still to be done, does it, and the others find
nothing left. What is done stands in the database itself, in the same transaction, so that the first
replica, which is killed in the middle of the second migration, leaves neither a half nor a doubt.

    python -m examples.migrations
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import holdfast

REPLICAS = 5

MIGRATIONS = {
    "0001-orders": "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
    "0002-state": "ALTER TABLE orders ADD COLUMN state TEXT",
    "0003-index": "CREATE INDEX orders_by_state ON orders (state)",
}


def start(folder: Path, number: int) -> None:
    """Do what a replica does when it starts."""
    with (
        holdfast.Client(f"sqlite:///{folder / 'locks.db'}", ttl="2s") as hf,
        closing(sqlite3.connect(folder / "app.db", isolation_level=None)) as database,
        hf.lock("app:migrate", wait="5m") as lease,
    ):
        database.execute("CREATE TABLE IF NOT EXISTS migrated (name TEXT PRIMARY KEY, by INTEGER)")
        done = {name for (name,) in database.execute("SELECT name FROM migrated")}
        for name, statement in MIGRATIONS.items():
            if name not in done:
                lease.check()  # whoever has lost the lock stops here
                migrate(database, name, statement, number)


def migrate(database: sqlite3.Connection, name: str, statement: str, number: int) -> None:
    """Make one change and write down that it was made, both or neither."""
    database.execute("BEGIN IMMEDIATE")
    database.execute(statement)
    if number == 0 and name == "0002-state":
        say(f"replica 0 is killed in the middle of {name}")
        os.kill(os.getpid(), signal.SIGKILL)
    database.execute("INSERT INTO migrated VALUES (?, ?)", (name, number))
    database.execute("COMMIT")
    say(f"replica {number} has made {name}")


def say(text: str) -> None:
    """Print without delay: the next line may be the last."""
    print(text, flush=True)


def main() -> None:
    """Start the first replica, which dies, and then all the others at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        replica = [sys.executable, "-m", "examples.migrations", name]
        assert subprocess.run([*replica, "0"], check=False).returncode == -signal.SIGKILL
        others = [subprocess.Popen([*replica, str(number)]) for number in range(1, REPLICAS)]
        assert [other.wait() for other in others] == [0] * len(others)
        with closing(sqlite3.connect(folder / "app.db")) as database:
            made = database.execute("SELECT name, by FROM migrated ORDER BY name").fetchall()
        assert [name for name, _ in made] == [*MIGRATIONS]
        say(f"{len(made)} migrations, each made once, by {len({by for _, by in made})} replicas")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        start(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
