"""The types of ``holdfast.postgres``: checked by mypy, never run."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, assert_type

from holdfast import AsyncLease, AsyncLeaseSet, Lease, LeaseSet
from holdfast.postgres import fence, guard, xact_lock

if not TYPE_CHECKING:
    raise RuntimeError("this file is for the type checker")

import psycopg
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

Later = Coroutine[Any, Any, None]


def blocking(
    connection: psycopg.Connection[tuple[int]],
    cursor: psycopg.Cursor[dict[str, Any]],
    core: Connection,
    session: Session,
    lease: Lease,
) -> None:
    """Do it at once; any lease will do."""
    assert_type(guard(connection, lease), None)
    assert_type(guard(cursor, lease), None)
    assert_type(guard(core, lease), None)
    assert_type(guard(session, lease), None)
    assert_type(fence(connection, "resource", lease.token), None)
    assert_type(fence(core, "resource", lease.token, schema="locks"), None)
    assert_type(xact_lock(session, "name", shared=True, wait="5s"), None)
    assert_type(xact_lock(cursor, "name", wait=None), None)


async def awaited(
    connection: psycopg.AsyncConnection[tuple[int]],
    cursor: psycopg.AsyncCursor[dict[str, Any]],
    core: AsyncConnection,
    session: AsyncSession,
    lease: AsyncLease,
) -> None:
    """Give something to await; to forget that is an error of the type checker's too."""
    await assert_type(guard(connection, lease), Later)
    await assert_type(guard(cursor, lease), Later)
    await assert_type(guard(core, lease), Later)
    await assert_type(guard(session, lease), Later)
    await assert_type(fence(connection, "resource", lease.token), Later)
    await assert_type(xact_lock(session, "name", wait=0), Later)
    guard(session, lease)  # type: ignore[unused-coroutine]
    await guard(session, lease)


def sets(connection: psycopg.Connection, leases: LeaseSet, others: AsyncLeaseSet) -> None:
    """Guard together what was locked together."""
    guard(connection, leases)
    guard(connection, others)


def refused(connection: psycopg.Connection, lease: Lease) -> None:
    """Leave out nothing, and give nothing else."""
    guard(connection, "name")  # type: ignore[call-overload]
    guard("postgresql://", lease)  # type: ignore[call-overload]
    fence(connection, "resource", "7")  # type: ignore[call-overload]
    xact_lock(connection, "name", True)  # type: ignore[call-overload]
