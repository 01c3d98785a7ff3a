"""``guard``: a transaction that commits only if its lease was held, and while nobody else had it.

A check before the commit leaves a gap, in which a paused process loses its lease. Here there is
none: the row of the grant is pinned, and a pinned grant counts as held until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeAlias, overload

from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lease_set import AsyncLeaseSet, LeaseSet
from holdfast.errors import LockLost, Misuse
from holdfast.postgres import refusals
from holdfast.postgres.connections import AsyncConnection, Connection, Talk, carried_out, talk_with
from holdfast.values import called, origin

Guarded: TypeAlias = "Lease | AsyncLease | LeaseSet | AsyncLeaseSet"


class Grant(NamedTuple):
    """What the database knows a lease by. Its secret is not needed, so no log can show it."""

    schema: str
    prefix: str
    birth: int
    name: str
    token: int


@overload
def guard(connection: AsyncConnection, lease: Guarded) -> Coroutine[Any, Any, None]: ...
@overload
def guard(connection: Connection, lease: Guarded) -> None: ...
def guard(connection: object, lease: Guarded) -> Any:
    """Let this transaction commit only if ``lease`` is held; else raise ``LockLost``.

    From here on the lease counts as held until the transaction ends: nobody else is granted the
    name before that, even if the lease is lost or given back meanwhile. Its renewals go on beside
    it, and other holders are not held up. When it raises, the transaction is over in the database
    too: nothing of it can be committed.

    Call it last, just before the commit: whoever waits for the name waits for the transaction.
    """
    talk = talk_with(connection)
    return carried_out(talk, _guard(talk, lease))


async def _guard(talk: Talk, lease: Guarded) -> None:
    leases = _each(lease)
    grants = [_grant(one) for one in leases]
    await talk.begin()
    for one, grant in zip(leases, grants, strict=True):
        # What its own clock has given up must not pass, whatever the database would say.
        token = grant.token if one.held else -1
        try:
            await talk.ask(
                f"SELECT {grant.schema}.guard(CAST({{}} AS text), CAST({{}} AS bigint),"
                " CAST({} AS text), CAST({} AS bigint))",
                grant.prefix,
                grant.birth,
                grant.name,
                token,
            )
        except Exception as error:
            if token < 0:
                one.check()  # it knows why, whatever the database objects to
            state = refusals.state_of(error)
            if state == refusals.NOT_HELD:
                one.check()  # it may know why
                raise _lost(grant, "in the database it is not held any more") from None
            if state == refusals.ANOTHER_MEMORY:
                raise _lost(grant, ELSEWHERE) from None
            if state in refusals.MISSING:
                raise refusals.no_functions(grant.schema) from error
            raise


ELSEWHERE = (
    "it was not granted by the tables in this connection's database: they were made anew, or this"
    " is another database than that of the lease's client"
)


def _lost(grant: Grant, reason: str) -> LockLost:
    return LockLost(
        f"the lease on {called(grant.name)} (token {grant.token}) is lost: {reason}. This"
        " transaction commits nothing; stop the work that the lease protected.",
        name=origin(grant.name)[1],
        token=grant.token,
        reason=reason,
    )


def _each(lease: object) -> list[Lease | AsyncLease]:
    if isinstance(lease, (Lease, AsyncLease)):
        return [lease]
    if isinstance(lease, (LeaseSet, AsyncLeaseSet)):
        return list(lease.leases.values())
    raise Misuse(
        "guard needs the lease that the work relies on, as `with client.lock(…) as lease` gives it,"
        f" not a {type(lease).__qualname__}"
    )


def _grant(lease: Lease | AsyncLease) -> Grant:
    backend = lease._engine.backend  # noqa: SLF001 - another room of the same house
    state = lease._state  # noqa: SLF001
    which = backend.capabilities.backend
    if which != "postgres":
        raise Misuse(
            f"the lease on {called(state.name)} is one of {which}, and only leases of postgresql://"
            " can be guarded in a transaction: use fence(connection, resource, lease.token)"
        )
    office: Any = backend.office  # type: ignore[attr-defined]  # a PostgresBackend has one
    return Grant(office.target.schema, office.prefix, office.mark, state.name, state.token)
