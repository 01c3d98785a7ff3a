"""A record as a row of the table, and back. Counterpart: ``schema``.

Written by hand and not by the JSON encoder: this is half of what a take-and-give-back costs besides
the transactions, and it is a third of the price.
"""

from __future__ import annotations

import json
from typing import Any, cast

from holdfast.backends.sqlite import faults
from holdfast.rules.holding import FORMAT, Grant, Record, Waiter
from holdfast.rules.messages import Want
from holdfast.values import Holder, Kind

Row = tuple[int, int, str, int, int, str, str, str]
"""version, format, kind, capacity, last_token, grants, queue, ended: as in ``schema.COLUMNS``."""

Cells = list[Any]
"""One grant or waiter, as JSON has it. Only the text of people needs quoting: ids are ours."""

_quoted = json.encoder.encode_basestring


def to_row(record: Record, version: int) -> Row:
    """Write a record down."""
    return (
        version,
        FORMAT,
        record.kind,
        record.capacity,
        record.last_token,
        f"[{','.join(map(_grant, record.grants))}]",
        f"[{','.join(map(_waiter, record.queue))}]",
        record.ended,
    )


def from_row(name: str, row: Row) -> Record:
    """Read a record; one written by a newer holdfast is refused."""
    _, written, kind, capacity, last_token, grants, queue, ended = row
    if written > FORMAT:
        raise faults.newer_format(name, written, FORMAT)
    kind = cast("Kind", kind)
    held: tuple[Grant, ...] = ()
    waiting: tuple[Waiter, ...] = ()
    try:
        if grants != "[]":
            held = tuple([_to_grant(kind, capacity, cells) for cells in json.loads(grants)])
        if queue != "[]":
            waiting = tuple([_to_waiter(kind, capacity, cells) for cells in json.loads(queue)])
    except (ValueError, TypeError) as error:
        raise faults.garbled(name) from error
    return Record(name, kind, capacity, last_token, held, waiting, ended)


def _party(one: Grant | Waiter) -> str:
    want, holder = one.want, one.holder
    metadata, host, label = _quoted(want.metadata), _quoted(holder.host), _quoted(holder.label)
    return (
        f'"{one.claim_id}",{want.weight},{want.ttl!r},{metadata},{want.detached:d},'
        f'"{holder.client}",{host},{holder.pid},{label},"{one.inbox}"'
    )


def _grant(grant: Grant) -> str:
    slots = ",".join(map(str, grant.slots))
    own = f"{grant.token},{grant.ends_at!r},{grant.granted_at!r},[{slots}],{_quoted(grant.broken)}"
    return f"[{_party(grant)},{own}]"


def _waiter(waiter: Waiter) -> str:
    own = f"{waiter.patience_until!r},{waiter.seen_token},{waiter.joined_at!r}"
    return f"[{_party(waiter)},{own}]"


def _to_grant(kind: Kind, capacity: int, cells: Cells) -> Grant:
    claim_id, weight, ttl, metadata, detached, client, host, pid, label, inbox, *own = cells
    want = Want(kind, capacity, weight, ttl, metadata, bool(detached))
    token, ends_at, granted_at, slots, broken = own
    holder = Holder(client, host, pid, label)
    return Grant(claim_id, want, holder, inbox, token, ends_at, granted_at, tuple(slots), broken)


def _to_waiter(kind: Kind, capacity: int, cells: Cells) -> Waiter:
    claim_id, weight, ttl, metadata, detached, client, host, pid, label, inbox, *own = cells
    want = Want(kind, capacity, weight, ttl, metadata, bool(detached))
    return Waiter(claim_id, want, Holder(client, host, pid, label), inbox, *own)
