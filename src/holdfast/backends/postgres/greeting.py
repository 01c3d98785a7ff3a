"""The first words on a connection: who stands between, whether we may write, are the tables there.

Blocking, on a thread; the async wire sends one along. Twenty programs that start at once may all
find no schema: one of them makes it, under an advisory lock, and the others find it made.
"""

from __future__ import annotations

from contextlib import suppress

from holdfast.backends.postgres import faults, schema
from holdfast.backends.postgres.link import Link
from holdfast.backends.postgres.survey import Survey
from holdfast.backends.postgres.target import Target
from holdfast.errors import BackendUnavailable

OLDEST = 140000
"""PostgreSQL 14: bodies of functions in standard SQL."""

_ABOUT = """
SELECT pg_backend_pid(), current_setting('server_version_num'), pg_is_in_recovery(),
    current_setting('default_transaction_read_only'),
    current_setting('default_transaction_isolation'), current_setting('fsync'),
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names')
"""

HANG_UP = "SET client_connection_check_interval = '1s'"
"""So that what waits for a row on the server ends when the one who asked has given up."""


def greet(link: Link, target: Target, survey: Survey, deadline: float) -> int:
    """Get to know the server, see to its tables, and give its birth mark."""
    try:
        return _greet(link, target, survey, deadline)
    except BackendUnavailable as error:
        error.outcome = "none"  # nothing but a greeting was sent
        raise


def _greet(link: Link, target: Target, survey: Survey, deadline: float) -> int:
    name = target.schema
    marks = f", {name}.version(), {name}.serves(), {name}.birth()"
    try:  # most often all is there, and one question is enough
        (about,) = link.query(_ABOUT + marks, deadline)
    except BackendUnavailable as error:
        if getattr(error, "state", "") not in faults.MISSING:
            raise
        (about,) = link.query(_ABOUT, deadline)
    _look_at_server(link, target, survey, about[:8], deadline)
    if len(about) == 8:  # noqa: PLR2004 - without the marks of the schema
        install(link, target, deadline)
        (about,) = link.query(_ABOUT + marks, deadline)
    version, serves, birth = map(int, about[8:])
    if schema.NEEDS <= version < schema.VERSION:
        version = _brought_up(link, target, survey, version, deadline)
    return _understood(target, version, serves, birth)


def _look_at_server(
    link: Link, target: Target, survey: Survey, about: list[str], deadline: float
) -> None:
    pid, version, standby, read_only, isolation, fsync, commit, standbys = about
    if int(version) < OLDEST:
        raise faults.too_old(target.shown, int(version))
    if standby == "t" or read_only == "on":
        raise faults.refused(target.shown, "25006", "it says that it is read-only")
    # A pooler answers with a key of its own; the process that does the work is another one.
    link.pooled = int(pid) != link.connection.backend_pid
    if isolation != "read committed":
        if link.pooled:
            raise faults.isolated(target.shown, isolation)
        link.query("SET default_transaction_isolation = 'read committed'", deadline)
    if not link.pooled:
        with suppress(BackendUnavailable):  # not on every system; then a little later
            link.query(HANG_UP, deadline)
    if not survey.done:
        listens = target.wakeup == "listen" or (target.wakeup == "auto" and not link.pooled)
        survey.read(int(version), fsync, commit, standbys, push=listens, pooled=link.pooled)


def _understood(target: Target, version: int, serves: int, birth: int) -> int:
    """See that the schema and this program understand each other; give the birth mark."""
    if serves > schema.VERSION:
        raise faults.newer_schema(target.shown, target.schema, version, serves, schema.VERSION)
    if version < schema.NEEDS:
        raise faults.older_schema(target.shown, target.schema, version, schema.VERSION)
    return birth


def _brought_up(link: Link, target: Target, survey: Survey, version: int, deadline: float) -> int:
    """Bring an older schema up to date where we may; without that, leases work all the same."""
    if not target.install or survey.stays_older:
        return version
    try:
        install(link, target, deadline)
    except BackendUnavailable as error:
        if error.transient:
            raise
        link.query("ROLLBACK", deadline)
        survey.stay_older(version)  # so that it is not tried on every connection
        return version
    return schema.VERSION


def install(link: Link, target: Target, deadline: float, *, by_hand: bool = False) -> None:
    """Make what the schema lacks in one transaction, unless somebody else was quicker."""
    if not target.install and not by_hand:
        raise faults.no_schema(target.shown, target.schema, "install=never")
    version = 0
    try:
        link.query("BEGIN", deadline)
        link.query(f"SELECT pg_advisory_xact_lock({schema.INSTALLING})", deadline)
        version = _version(link, target.schema, deadline)
        if version < schema.VERSION:
            link.query(schema.statements(target.schema, version), deadline)
        link.query("COMMIT", deadline)
    except BackendUnavailable as error:
        if error.transient:
            raise
        if version:
            older = faults.older_schema(target.shown, target.schema, version, schema.VERSION)
            raise older from error
        raise faults.no_schema(target.shown, target.schema, error.message) from error


def _version(link: Link, name: str, deadline: float) -> int:
    """Give the version of the schema, 0 if there is none; in a transaction, so without an error."""
    there = f"SELECT to_regprocedure('{name}.version()') IS NOT NULL"
    if link.query(there, deadline) != [["t"]]:
        return 0
    return int(link.query(f"SELECT {name}.version()", deadline)[0][0])
