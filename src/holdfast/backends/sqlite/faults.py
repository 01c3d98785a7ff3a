"""What SQLite's errors mean to a person, and what to do about each."""

from __future__ import annotations

import sqlite3

from holdfast.errors import BackendUnavailable

_PRIMARY = 0xFF

_WORDS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space; nothing was changed"),
    sqlite3.SQLITE_READONLY: (
        "the file or its folder is read-only",
        "give this user write access to both, or choose another path",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "may this user write there? An absolute path has four slashes (sqlite:////var/locks.db)",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged",
        "stop the programs that use it and move it away; holdfast makes a new one",
    ),
    sqlite3.SQLITE_NOTADB: (
        "the file is not a SQLite database",
        "choose another path, or move the file away if it was meant for holdfast",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk reports an error",
        "look at the kernel's log; a network file system cannot carry a lock file",
    ),
    sqlite3.SQLITE_PERM: ("access is denied", "give this user write access to the file"),
}
_LASTING = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN}
_LASTING |= {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection is in the way, so that trying again will do."""
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explained(error: sqlite3.Error, shown: str) -> BackendUnavailable:
    """Turn an error of SQLite into ours; it rolled back, so nothing was changed."""
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    what, remedy = _WORDS.get(code, (str(error), "see the error it was raised from"))
    return BackendUnavailable(
        f"{shown}: {what}: {remedy}.",
        backend="sqlite",
        transient=code not in _LASTING,
    )


def unreadable(error: OSError, shown: str) -> BackendUnavailable:
    """Say that the file cannot even be looked at."""
    return BackendUnavailable(
        f"{shown}: {error.strerror}: does the folder still exist, and may this user look into it?",
        backend="sqlite",
    )


def unforeseen(error: Exception) -> BackendUnavailable:
    """Wrap what should not have happened; whether anything was changed is not known."""
    return BackendUnavailable(
        f"the transaction failed in a way that is a bug in holdfast: {error!r}",
        backend="sqlite",
        outcome="unknown",
        transient=False,
    )


def late() -> BackendUnavailable:
    """Say that the answer did not come in time; the transaction may still be carried out."""
    return BackendUnavailable(
        "the file was busy for longer than this call may take: look for a program that is stopped"
        " or that opened the file by hand (`fuser` names it)",
        backend="sqlite",
        outcome="unknown",
    )


def newer_format(name: str, written: int, known: int) -> BackendUnavailable:
    """Say that a newer version of holdfast uses the name."""
    return BackendUnavailable(
        f"{name!r} was written by a newer holdfast (format {written}, this one knows {known});"
        " upgrade this program",
        backend="sqlite",
        transient=False,
    )


def newer_families(version: object, known: int) -> BackendUnavailable:
    """Say that a newer version of holdfast keeps its records and buckets in this file."""
    return BackendUnavailable(
        f"the records and buckets in the file were made by a newer holdfast (version {version},"
        f" this one knows {known}); upgrade this program or use another file",
        backend="sqlite",
        transient=False,
    )


def garbled(name: str) -> BackendUnavailable:
    """Say that somebody else has written into the file."""
    return BackendUnavailable(
        f"the record of {name!r} cannot be read: somebody else has written into the file; stop"
        " the programs that use it and move it away, holdfast makes a new one",
        backend="sqlite",
        transient=False,
    )


def closed() -> BackendUnavailable:
    """Say that nobody works here any more."""
    return BackendUnavailable("this client is closed", backend="sqlite", transient=False)


def still_busy(shown: str, seconds: float) -> BackendUnavailable:
    """Say that another process kept the file locked for the whole time allowed."""
    return BackendUnavailable(
        f"{shown}: another process kept the file locked for {seconds:.1f} s; a transaction of"
        " ours takes well under a millisecond, so look for a program that is stopped or that"
        " opened the file by hand (`fuser` names it).",
        backend="sqlite",
    )
