"""The tables, how a connection is set up, and what happens on the first use after a reboot."""

from __future__ import annotations

import os
import sqlite3

from holdfast.errors import BackendUnavailable

SCHEMA_VERSION = 1

COLUMNS = "version, format, kind, capacity, last_token, grants, queue, ended"

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names (
    prefix TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    format INTEGER NOT NULL,
    kind TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    last_token INTEGER NOT NULL,
    grants TEXT NOT NULL,
    queue TEXT NOT NULL,
    ended TEXT NOT NULL,
    touched_at REAL NOT NULL,
    UNIQUE (prefix, name)
);
"""

WAIT_FOR_DISK = "PRAGMA synchronous = FULL"
DO_NOT_WAIT = "PRAGMA synchronous = NORMAL"

LOAD = f"SELECT {COLUMNS} FROM names WHERE prefix = ? AND name = ?"  # noqa: S608 - constants
UPDATE = (
    "UPDATE names SET version = ?, format = ?, kind = ?, capacity = ?, last_token = ?, grants = ?,"
    " queue = ?, ended = ?, touched_at = ? WHERE prefix = ? AND name = ? AND version = ?"
)
INSERT = (
    f"INSERT INTO names ({COLUMNS}, touched_at, prefix, name)"  # noqa: S608 - constants
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
PAGE = (
    f"SELECT name, {COLUMNS} FROM names"  # noqa: S608 - constants
    " WHERE prefix = ? AND name > ? AND name >= ? AND name < ?"
    " AND NOT (grants = '[]' AND queue = '[]') ORDER BY name LIMIT ?"
)
FLOOR = "SELECT value FROM meta WHERE key = 'floor'"
SLICE = (
    "SELECT rowid, last_token, touched_at < ? AND grants = '[]' AND queue = '[]' FROM names"
    " WHERE rowid > ? ORDER BY rowid LIMIT ?"
)
DELETE_IDLE = (
    "DELETE FROM names WHERE rowid = ? AND touched_at < ? AND grants = '[]' AND queue = '[]'"
)
FAMILIES = "SELECT value FROM meta WHERE key = 'families'"
RAISE_FLOOR = (
    "INSERT INTO meta VALUES ('floor', ?)"
    " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)"
)


def set_up(connection: sqlite3.Connection, boot_id: str, now: float) -> None:
    """Make the connection ready: journal, tables, version, and an end to what a reboot ended."""
    connection.execute("PRAGMA journal_mode = WAL")
    # What a power cut can take back are leases, and it ends those anyway; the file stays whole.
    connection.execute(DO_NOT_WAIT)
    known = _meta(connection)
    if known.get("schema") == SCHEMA_VERSION and known.get("boot") == boot_id:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        known = _meta(connection)
        version = known.get("schema", SCHEMA_VERSION)
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise BackendUnavailable(
                f"the file was made by a newer holdfast (schema {version}, this one knows"
                f" {SCHEMA_VERSION}); upgrade this program or use another file",
                backend="sqlite",
                transient=False,
            )
        if "boot" in known and bool(known["boot"]) != bool(boot_id):
            raise BackendUnavailable(
                "some of those who use the file can see which boot of the host this is, and some"
                " cannot (/proc/sys/kernel/random/boot_id), so nobody can tell whether its leases"
                " are from before a reboot: let all of them see it (systemd: ProcSubset=all), or"
                " use another file",
                backend="sqlite",
                transient=False,
            )
        if known.get("boot") != boot_id:
            # Times are on the boot clock: those of another boot mean nothing, and nobody who held
            # or waited then is alive. Tokens stay.
            connection.execute(
                "UPDATE names SET version = version + 1, grants = '[]', queue = '[]', ended = '',"
                " touched_at = ?",
                (now,),
            )
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [
                ("schema", SCHEMA_VERSION),
                ("boot", boot_id),
                ("mark", known.get("mark") or os.urandom(8).hex()),
            ],
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _meta(connection: sqlite3.Connection) -> dict[str, object]:
    exists = "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"
    if not connection.execute(exists).fetchone()[0]:
        return {}
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())
