"""``fence``: the resource itself refuses who comes too late, by the token of the lease."""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any, overload

from holdfast.api.checks import checked_name
from holdfast.errors import LockLost, Misuse
from holdfast.postgres import refusals
from holdfast.postgres.connections import AsyncConnection, Connection, Talk, carried_out, talk_with
from holdfast.values import printable

SCHEMA = "holdfast"

LARGEST = 2**63 - 1

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@overload
def fence(
    connection: AsyncConnection, resource: str, token: int, *, schema: str = SCHEMA
) -> Coroutine[Any, Any, None]: ...
@overload
def fence(connection: Connection, resource: str, token: int, *, schema: str = SCHEMA) -> None: ...
def fence(connection: object, resource: str, token: int, *, schema: str = SCHEMA) -> Any:
    """Refuse a ``token`` smaller than the largest seen for ``resource``; remember it otherwise.

    A refusal is ``LockLost``, and the transaction is over in the database too. The token may be
    of a lease on any backend. It is remembered if the transaction commits; until it ends, others
    who come to the same resource wait. ``schema`` is where holdfast's tables are.
    """
    talk = talk_with(connection)
    return carried_out(talk, _fence(talk, resource, token, schema))


async def _fence(talk: Talk, resource: str, token: int, schema: str) -> None:
    resource, token = checked_name(resource, "resource"), _checked(token)
    if not _SCHEMA.fullmatch(schema):
        raise Misuse(
            f"schema={schema!r}: a plain name of lower-case letters, digits and underscores"
        )
    await talk.begin()
    try:
        # In quotes: it may be one of SQL's own words.
        await talk.ask(
            f'SELECT "{schema}".fence(CAST({{}} AS text), CAST({{}} AS bigint))', resource, token
        )
    except Exception as error:
        state = refusals.state_of(error)
        if state == refusals.SMALLER_TOKEN:
            raise _overtaken(resource, token, error) from None
        if state in refusals.MISSING:
            raise refusals.no_functions(schema) from error
        raise


def _overtaken(resource: str, token: int, error: Exception) -> LockLost:
    larger = re.search(r"holdfast: token (\d+)", str(error))
    later = f" (token {larger[1]})" if larger else ""
    reason = f"somebody with a later lease{later} has been there"
    return LockLost(
        f"{printable(resource)!r} is closed to token {token}: {reason}. This transaction commits"
        " nothing; stop the work that the lease protected.",
        name=resource,
        token=token,
        reason=reason,
    )


def _checked(token: object) -> int:
    if not isinstance(token, int) or isinstance(token, bool) or not 0 < token <= LARGEST:
        raise Misuse(f"token must be the number of a lease, as `lease.token` is, not {token!r}")
    return token
