"""A record as a row of the table, and back. Counterpart: ``schema``."""

from __future__ import annotations

import json
from typing import cast

from holdfast.errors import BackendUnavailable
from holdfast.rules.holding import FORMAT, Grant, Record, Waiter
from holdfast.rules.messages import Want
from holdfast.values import Holder, Kind

Row = tuple[int, str, int, int, str, str, str]
"""format, kind, capacity, last_token, grants, queue, ended: the order of ``schema.COLUMNS``."""

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def to_row(record: Record) -> Row:
    """Write a record down."""
    return (
        FORMAT,
        record.kind,
        record.capacity,
        record.last_token,
        _dumps([_from_grant(grant) for grant in record.grants]) if record.grants else "[]",
        _dumps([_from_waiter(waiter) for waiter in record.queue]) if record.queue else "[]",
        record.ended,
    )


def from_row(name: str, row: Row) -> Record:
    """Read a record; one written by a newer holdfast is refused."""
    version, kind, capacity, last_token, grants, queue, ended = row
    if version > FORMAT:
        raise BackendUnavailable(
            f"{name!r} was written by a newer holdfast (format {version}, this one knows {FORMAT});"
            " upgrade this program",
            backend="sqlite",
            transient=False,
        )
    kind = cast("Kind", kind)
    return Record(
        name,
        kind,
        capacity,
        last_token,
        () if grants == "[]" else tuple(_to_grant(kind, capacity, g) for g in json.loads(grants)),
        () if queue == "[]" else tuple(_to_waiter(kind, capacity, w) for w in json.loads(queue)),
        ended,
    )


def _from_party(one: Grant | Waiter) -> list[object]:
    want, holder = one.want, one.holder
    return [
        one.claim_id,
        want.weight,
        want.ttl,
        want.metadata,
        int(want.detached),
        holder.client,
        holder.host,
        holder.pid,
        holder.label,
        one.inbox,
    ]


def _from_grant(grant: Grant) -> list[object]:
    own = [grant.token, grant.ends_at, grant.granted_at, grant.slots, grant.broken]
    return _from_party(grant) + own


def _from_waiter(waiter: Waiter) -> list[object]:
    return [*_from_party(waiter), waiter.patience_until, waiter.seen_token, waiter.joined_at]


def _want(kind: Kind, capacity: int, cells: list[object]) -> Want:
    weight, ttl, metadata, detached = cast("tuple[int, float, str, int]", cells[1:5])
    return Want(
        kind=kind,
        capacity=capacity,
        weight=weight,
        ttl=ttl,
        metadata=metadata,
        detached=bool(detached),
    )


def _to_grant(kind: Kind, capacity: int, cells: list[object]) -> Grant:
    claim_id, inbox = cast("str", cells[0]), cast("str", cells[9])
    holder = Holder(*cast("tuple[str, str, int, str]", tuple(cells[5:9])))
    token, ends_at, granted_at, slots, broken = cast(
        "tuple[int, float, float, list[int], str]", cells[10:]
    )
    want = _want(kind, capacity, cells)
    return Grant(claim_id, want, holder, inbox, token, ends_at, granted_at, tuple(slots), broken)


def _to_waiter(kind: Kind, capacity: int, cells: list[object]) -> Waiter:
    claim_id, inbox = cast("str", cells[0]), cast("str", cells[9])
    holder = Holder(*cast("tuple[str, str, int, str]", tuple(cells[5:9])))
    until, seen_token, joined_at = cast("tuple[float, int, float]", cells[10:])
    return Waiter(
        claim_id, _want(kind, capacity, cells), holder, inbox, until, seen_token, joined_at
    )
