"""The first words on a session: whether it is ours for good, whether the tables are there.

Blocking, on a thread. A session of ours is never cut short by a setting of its user or database,
and the server notices soon when we are gone.
"""

from __future__ import annotations

from holdfast.backends.advisory import faults, schema
from holdfast.backends.advisory.target import Terms
from holdfast.backends.postgres import faults as postgres_faults
from holdfast.backends.postgres.greeting import HANG_UP, OLDEST
from holdfast.backends.postgres.link import Link
from holdfast.errors import BackendUnavailable

_ABOUT = """
SELECT pg_backend_pid(), current_setting('server_version_num'),
    pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean
"""

_OURS = """
SET statement_timeout = 0; SET lock_timeout = 0; SET idle_session_timeout = 0;
SET default_transaction_isolation = 'read committed';
SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3;
"""
"""No limit of others cuts a wait short, and a host that vanished is missed within six seconds."""

_UNKNOWN_THERE = frozenset({"22023", "55000", "0A000"})
"""Not every system can look whether its client is still there; a wait then ends a little later."""

_SINCE_17 = "SET transaction_timeout = 0;\n"

_WITH_TRANSACTION_TIMEOUT = 170000


def greet(link: Link, terms: Terms, deadline: float, channel: str = "") -> int:
    """Get to know the server and see to its tables; give the number of the session.

    With a ``channel`` the session hears of what is broken.
    """
    try:
        pid, version = _look_at_server(link, terms, deadline)
        words = _OURS + (_SINCE_17 if version >= _WITH_TRANSACTION_TIMEOUT else "")
        words += f"LISTEN {channel};\n" if channel else ""
        try:
            see_to_tables(link, terms, deadline, f"{words}{HANG_UP};\n")
        except BackendUnavailable as error:
            if getattr(error, "state", "") not in _UNKNOWN_THERE:
                raise
            see_to_tables(link, terms, deadline, words)
    except BackendUnavailable as error:
        error.outcome = "none"  # nothing but a greeting was sent
        raise
    return pid


def _look_at_server(link: Link, terms: Terms, deadline: float) -> tuple[int, int]:
    shown = terms.target.shown
    ((pid, version, read_only),) = link.query(_ABOUT, deadline)
    if int(version) < OLDEST:
        raise postgres_faults.too_old(shown, int(version))
    if read_only == "t":
        raise postgres_faults.refused(shown, "25006", "it says that it is read-only")
    # A pooler answers with a key of its own; the process that does the work is another one.
    link.pooled = int(pid) != link.connection.backend_pid
    if link.pooled and not terms.pooled:
        raise faults.pooled(shown)
    link.prepares = not link.pooled
    return int(pid), int(version)


def see_to_tables(
    link: Link, terms: Terms, deadline: float, before: str = "", *, by_hand: bool = False
) -> bool:
    """Make the tables if they are not there, and forget who is gone; say whether they were made.

    What is to be said ``before`` travels along.
    """
    target = terms.target
    name = target.schema
    words = f"{before}SELECT {name}.version(), {name}.serves(), {name}.sweep()"
    made = False
    try:
        ((version, serves, _),) = link.query(words, deadline)
    except BackendUnavailable as error:
        if getattr(error, "state", "") not in postgres_faults.MISSING:
            raise
        if not (target.install or by_hand):
            raise postgres_faults.no_schema(target.shown, target.schema, "install=never") from error
        made = _make(link, terms, deadline)
        ((version, serves, _),) = link.query(words, deadline)
    if int(serves) > schema.VERSION or int(version) < schema.VERSION:
        raise faults.forgotten(
            target.shown, target.schema, int(version), int(serves), schema.VERSION
        )
    return made


def _make(link: Link, terms: Terms, deadline: float) -> bool:
    """Make them in one transaction, unless somebody else was quicker."""
    target = terms.target
    there = f"SELECT to_regprocedure('{target.schema}.version()') IS NOT NULL"
    try:
        link.query(f"BEGIN; SELECT pg_advisory_xact_lock({schema.MAKING})", deadline)
        made = link.query(there, deadline) != [["t"]]
        if made:
            link.query(schema.statements(target.schema), deadline)
        link.query("COMMIT", deadline)
    except BackendUnavailable as error:
        if error.transient:
            raise
        raise postgres_faults.no_schema(target.shown, target.schema, error.message) from error
    return made
