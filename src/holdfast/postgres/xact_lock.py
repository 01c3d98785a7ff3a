"""``xact_lock``: an advisory lock that ends with the caller's transaction, in whatever way it ends.

No tables, no keeper, no token: for work that is done when its own transaction is. It needs nothing
installed, and a transaction pooler does not mind it.
"""

from __future__ import annotations

from collections.abc import Coroutine
from hashlib import blake2b
from math import ceil
from typing import Any, overload

from holdfast.api.checks import checked_name, checked_wait
from holdfast.durations import Duration, readable
from holdfast.errors import LockBusy, Misuse
from holdfast.postgres import refusals
from holdfast.postgres.connections import AsyncConnection, Connection, Talk, carried_out, talk_with
from holdfast.values import printable

LONGEST = 2**31 - 1
"""Milliseconds that ``lock_timeout`` can say: 24 days."""

_WHO = """
SELECT string_agg(concat('pid ', a.pid, ' (', nullif(a.application_name, '') || ', ',
    coalesce(host(a.client_addr), 'local'), ') in a transaction since ',
    date_trunc('seconds', a.xact_start)), '; ' ORDER BY a.pid)
FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((l.classid::bigint << 32) | l.objid::bigint) = CAST({} AS bigint)
    AND l.pid <> pg_backend_pid()
"""


@overload
def xact_lock(
    connection: AsyncConnection,
    name: str,
    *,
    shared: bool = False,
    wait: Duration | None = None,
) -> Coroutine[Any, Any, None]: ...
@overload
def xact_lock(
    connection: Connection, name: str, *, shared: bool = False, wait: Duration | None = None
) -> None: ...
def xact_lock(
    connection: object, name: str, *, shared: bool = False, wait: Duration | None = None
) -> Any:
    """Hold ``name`` until this transaction ends; ``shared`` with others who share it.

    Waits for as long as ``wait`` says, and raises ``LockBusy`` then; the transaction can go on
    after that. It excludes other ``xact_lock`` calls in the same database, not ``client.lock``.
    Asked twice in one transaction it is simply held. There is no fair line between shared and
    exclusive beyond PostgreSQL's own, and no loss: if the session ends, so does the transaction.
    """
    talk = talk_with(connection)
    return carried_out(talk, _hold(talk, name, shared=shared, wait=wait))


def key_of(name: str) -> int:
    """Give the 64-bit number by which PostgreSQL knows ``name``: two names that meet only wait."""
    digest = blake2b(f"holdfast:xact:{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def _hold(talk: Talk, name: str, *, shared: bool, wait: Duration | None) -> None:
    key, limit = key_of(checked_name(name)), checked_wait(wait)
    suffix = "_shared" if shared else ""
    await talk.begin()
    if limit is not None:
        row = await talk.ask(_statement(f"pg_try_advisory_xact_lock{suffix}"), key)
        _refuse_old_sight(row)
        if row is not None and row[0] == "true":
            return
        if limit == 0:
            raise await _busy(talk, name, key, 0.0)
    waiting = _statement(f"pg_advisory_xact_lock{suffix}")
    try:
        if limit is not None:
            await _within(talk, waiting, key, limit)
        else:
            _refuse_old_sight(await talk.ask(waiting, key))
    except _TooLong:
        raise await _busy(talk, name, key, limit or 0.0) from None
    except Exception as error:
        if refusals.state_of(error) == refusals.TOO_LONG:
            raise _by_its_own_limit(name) from error
        raise


def _statement(function: str) -> str:
    """Lock, unless it would be in vain: see ``_refuse_old_sight``."""
    isolation = "current_setting('transaction_isolation')"
    locked = f"CAST({function}(CAST({{}} AS bigint)) AS text)"
    return f"SELECT CASE WHEN {isolation} <> 'repeatable read' THEN {locked} END, {isolation}"


def _refuse_old_sight(row: tuple[Any, ...] | None) -> None:
    """Refuse a transaction that goes on seeing what was there before it had the lock.

    Its snapshot is that of the very statement that waits. Serializable transactions have the same,
    but PostgreSQL finds out.
    """
    if row is not None and row[1] == "repeatable read":
        raise Misuse(
            "xact_lock in a repeatable read transaction protects nothing: what is read after it is"
            " how things were before the last holder's commit. Use read committed or serializable"
        )


class _TooLong(Exception):
    """The wait is over, and the transaction is as it was."""


async def _within(talk: Talk, waiting: str, key: int, limit: float) -> None:
    """Wait with a limit, in a savepoint: so neither transaction nor settings are spoiled."""
    milliseconds = str(max(1, min(ceil(limit * 1000), LONGEST)))
    row = await talk.ask("SELECT current_setting('lock_timeout')")
    await talk.ask("SAVEPOINT holdfast_wait")
    try:
        await talk.ask("SELECT set_config('lock_timeout', CAST({} AS text), true)", milliseconds)
        await talk.ask(waiting, key)
    except Exception as error:
        if refusals.state_of(error) != refusals.TOO_LONG:
            raise
        await talk.ask("ROLLBACK TO SAVEPOINT holdfast_wait")
        await talk.ask("RELEASE SAVEPOINT holdfast_wait")
        raise _TooLong from None
    before = row[0] if row else "0"
    await talk.ask("SELECT set_config('lock_timeout', CAST({} AS text), true)", before)
    await talk.ask("RELEASE SAVEPOINT holdfast_wait")


def _by_its_own_limit(name: str) -> LockBusy:
    return LockBusy(
        f"{printable(name)!r} is busy: this connection's own lock_timeout ended the wait, and the"
        " transaction with it. Give xact_lock a `wait` to keep the transaction.",
        name=name,
    )


async def _busy(talk: Talk, name: str, key: int, waited: float) -> LockBusy:
    row = await talk.ask(_WHO, key)
    who = printable(row[0]) if row and row[0] else "nobody right now"
    after = f" after waiting {readable(waited)}" if waited else ""
    return LockBusy(
        f"{printable(name)!r} is busy{after}: held by {who}. The transaction can go on; pg_locks"
        " shows more.",
        name=name,
        waited_for=waited,
    )
