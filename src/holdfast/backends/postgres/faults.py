"""What the server's errors mean to a person, and whether asking again can help."""

from __future__ import annotations

from holdfast.errors import BackendUnavailable
from holdfast.values import printable

BACKEND = "postgres"

DEMOTED = frozenset({"25006"})
"""Signs that this connection leads to a standby: behind the same name a new one may not."""

MISSING = frozenset({"3F000", "42883", "42P01"})
"""Signs that the schema is not there (any more)."""

UNPREPARED = frozenset({"26000", "42P05"})
"""Signs that somebody between us and the server mixes up prepared statements."""

_PASSING = {
    "25006": "it is read-only now: a standby; a fail-over may be under way",
    "40001": "another transaction was in the way",
    "40P01": "another transaction was in the way",
    "53100": "its disk is full",
    "53200": "it is out of memory",
    "53300": "it has no connection left (max_connections)",
    "55P03": "a row of holdfast's tables is locked by somebody else (lock_timeout)",
    "57014": "the statement was cancelled, or took too long (statement_timeout)",
    "57P01": "it is shutting down, or an administrator ended the connection",
    "57P02": "it crashed and starts again",
    "57P03": "it is starting up or shutting down",
    "57P05": "it ended a connection that was idle for too long",
}
_LASTING = {
    "28000": "it does not let this user in",
    "28P01": "it refuses this password",
    "3D000": "there is no such database",
    "42501": "this user may not do that: the PostgreSQL page of the docs lists the rights that"
    " holdfast needs",
}


def refused(shown: str, state: str, text: str) -> BackendUnavailable:
    """Turn an error of a statement into ours: it was rolled back, so nothing was changed."""
    why = _PASSING.get(state) or _LASTING.get(state)
    said = printable(text.strip().splitlines()[0] if text.strip() else state)
    return BackendUnavailable(
        f"{shown}: {why} ({said})" if why else f"{shown}: {said}",
        backend=BACKEND,
        transient=state in _PASSING or state[:2] in {"08", "53", "57"},
    )


def unreachable(shown: str, reason: str) -> BackendUnavailable:
    """Say that no connection could be made: nothing was sent."""
    lasting = ("password", "does not exist", "no pg_hba.conf", "certificate", "role ")
    return BackendUnavailable(
        f"{shown}: no connection ({printable(_first_line(reason))}); is the server running, and is"
        " this its address?",
        backend=BACKEND,
        transient=not any(sign in reason for sign in lasting),
    )


def broken(shown: str, reason: str) -> BackendUnavailable:
    """Say that the connection ended before the reply came."""
    return BackendUnavailable(
        f"{shown}: the connection ended before the reply came ({printable(_first_line(reason))})",
        backend=BACKEND,
        outcome="unknown",
    )


def silent(shown: str) -> BackendUnavailable:
    """Say that the reply did not come in time."""
    return BackendUnavailable(
        f"{shown}: no reply within the time that this call may take (call_limit)",
        backend=BACKEND,
        outcome="unknown",
    )


def unsent(shown: str) -> BackendUnavailable:
    """Say that the time was over before the question could be sent."""
    return BackendUnavailable(
        f"{shown}: earlier questions were not answered in the time that this call may take",
        backend=BACKEND,
    )


def closed(shown: str) -> BackendUnavailable:
    """Say that nobody works here any more."""
    return BackendUnavailable(f"{shown}: this client is closed", backend=BACKEND, transient=False)


def quarantined(name: str, seconds: float) -> BackendUnavailable:
    """Say that the server may have forgotten who held what."""
    return BackendUnavailable(
        f"{printable(name)!r} is not granted to anybody for another {seconds:.1f} s: the server had"
        " just started when holdfast's tables were made, so it may have forgotten who holds what"
        " (wait, or turn this off with ?quarantine=0)",
        backend=BACKEND,
        transient=False,
    )


def withheld(name: str, seconds: float) -> BackendUnavailable:
    """Say that the server may have forgotten what was kept under a name."""
    return BackendUnavailable(
        f"what is kept as {printable(name)!r} is not told or changed for another {seconds:.1f} s:"
        " the server had just started when holdfast's tables were made, so it may have forgotten"
        " it (wait, or turn this off with ?quarantine=0)",
        backend=BACKEND,
        transient=False,
    )


def newer_schema(
    shown: str, schema: str, version: int, serves: int, mine: int
) -> BackendUnavailable:
    """Say that a newer version of holdfast has been here, which does not serve this one."""
    return BackendUnavailable(
        f"{shown}: the schema {schema} is of version {version}, made by a newer holdfast, and"
        f" serves programs of version {serves} and up; this one has {mine}: upgrade holdfast here",
        backend=BACKEND,
        transient=False,
    )


def older_schema(shown: str, schema: str, version: int, mine: int) -> BackendUnavailable:
    """Say that the schema must be migrated first."""
    return BackendUnavailable(
        f"{shown}: the schema {schema} is of version {version} and this holdfast needs {mine}: run"
        " `holdfast migrate` as a user who may change it",
        backend=BACKEND,
        transient=False,
    )


def no_schema(shown: str, schema: str, reason: str) -> BackendUnavailable:
    """Say that the tables are not there, and may not be made."""
    return BackendUnavailable(
        f"{shown}: there is no schema {schema} with holdfast's tables, and it cannot be made here"
        f" ({printable(_first_line(reason))}): run `holdfast migrate` as a user who may, or give"
        " `holdfast migrate --sql` to your database administrator",
        backend=BACKEND,
        transient=False,
    )


def too_old(shown: str, version: int) -> BackendUnavailable:
    """Say that the server lacks what the functions need."""
    return BackendUnavailable(
        f"{shown} is PostgreSQL {version // 10000}: holdfast needs 14 or newer",
        backend=BACKEND,
        transient=False,
    )


def isolated(shown: str, level: str) -> BackendUnavailable:
    """Say that transactions would see an old state of the tables."""
    return BackendUnavailable(
        f"{shown}: default_transaction_isolation is {level!r} for this user or database, and behind"
        " a pooler holdfast cannot change it: set it back to 'read committed'",
        backend=BACKEND,
        transient=False,
    )


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else "no reason given"
