"""What only happens with sessions, in words; everything else is said by ``postgres.faults``."""

from __future__ import annotations

from holdfast.errors import BackendUnavailable, Unsupported
from holdfast.values import printable

BACKEND = "advisory"


def pooled(shown: str) -> BackendUnavailable:
    """Refuse to lock where a session is not ours for good."""
    return BackendUnavailable(
        f"{shown}: a pooler stands between us and the server. One that pools transactions gives the"
        " session, and its locks, to somebody else: two would hold at once. Use the lease table"
        " (postgresql://…), which is safe there, or connect past the pooler; if yours gives whole"
        " sessions, say so with ?pooler=session",
        backend=BACKEND,
        transient=False,
    )


def another_session(expected: int, found: int) -> str:
    """Say that statements of one connection were carried out by two sessions."""
    return (
        f"session {found} has answered instead of {expected}: a pooler between us and the server"
        " gives sessions away, and locks with them"
    )


def ended(reason: str) -> str:
    """Say why a lease is over: its session is."""
    return f"its session has ended, and the lock with it ({printable(reason)})"


def vanished(name: str) -> BackendUnavailable:
    """Say that a break by force could not be carried through."""
    return BackendUnavailable(
        f"{printable(name)!r} is still held although its session was told to end: look again",
        backend=BACKEND,
        outcome="unknown",
    )


def lasting(shown: str, text: str) -> BackendUnavailable:
    """Say what asking again cannot mend."""
    return BackendUnavailable(f"{shown}: {text}", backend=BACKEND, transient=False)


def forgotten(shown: str, schema: str, version: int, serves: int, mine: int) -> BackendUnavailable:
    """Say that the schema and this program do not understand each other."""
    remedy = "upgrade holdfast here" if serves > mine else "drop it; holdfast makes it anew"
    return lasting(
        shown,
        f"the schema {schema} is of version {version}, serves programs of version {serves} and up,"
        f" and this one has {mine}: {remedy}",
    )


def unforeseen(error: Exception) -> BackendUnavailable:
    """Say that something went wrong that nobody thought of; whether it was done is not known."""
    return BackendUnavailable(
        f"an unforeseen error ({type(error).__name__}: {printable(str(error))})",
        backend=BACKEND,
        outcome="unknown",
    )


def unsupported(what: str) -> Unsupported:
    """Say that this is asked of the wrong backend; what is built on it was refused before."""
    return Unsupported(f"advisory locks have no {what}; memory, sqlite, redis and postgres can")
