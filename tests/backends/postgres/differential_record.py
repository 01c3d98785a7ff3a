"""What the server has stored of a name, read past the functions, as the rule's record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from holdfast.rules.holding import Grant, Record, Waiter
from holdfast.rules.messages import Want
from holdfast.values import Holder, Kind

Rows = Callable[..., list[tuple[Any, ...]]]


def stored(rows: Rows, schema: str, prefix: str, name: str) -> Record:
    """Read all there is of one name; its parts have to fit each other."""
    seats = rows(
        f"""SELECT seat, claim_id, token, ends_at, granted_at, weight, ttl, inbox, holder, metadata,
        detached, slots, broken, kind, capacity, last_token, taken, waiting, ended, patience_floor
        FROM {schema}.seats WHERE prefix = %s AND name = %s ORDER BY token""",  # noqa: S608
        prefix,
        name,
    )
    if not seats:
        return Record(name)
    line = rows(
        f"""SELECT claim_id, weight, ttl, metadata, detached, holder, inbox, patience_until,
        seen_token, joined_at, place FROM {schema}.waiters WHERE prefix = %s AND name = %s
        ORDER BY place""",  # noqa: S608
        prefix,
        name,
    )
    (first,) = [seat for seat in seats if seat[0] == 0]
    kind, capacity, last_token, taken, waiting, ended, floor = first[13:]
    held = [seat for seat in seats if seat[1] is not None]
    assert taken == len(held)
    assert waiting == len(line)
    assert not line or floor <= min(waiter[7] for waiter in line)
    grants = tuple(_grant(kind, capacity, seat) for seat in held)
    queue = tuple(_waiter(kind, capacity, waiter) for waiter in line)
    return Record(name, kind, capacity, last_token, grants, queue, ended)


def _grant(kind: Kind, capacity: int, seat: tuple[Any, ...]) -> Grant:
    _, claim_id, token, ends_at, since, weight, ttl, inbox, holder, metadata, detached = seat[:11]
    slots, broken = seat[11:13]
    want = Want(kind, capacity, weight, ttl / 1e6, _text(metadata), detached)
    lives = ends_at / 1e6, since / 1e6
    who = Holder(*holder)
    return Grant(claim_id, want, who, inbox, token, *lives, tuple(slots or ()), broken)


def _waiter(kind: Kind, capacity: int, cells: tuple[Any, ...]) -> Waiter:
    claim_id, weight, ttl, metadata, detached, holder, inbox, until, seen, joined, _ = cells
    want = Want(kind, capacity, weight, ttl / 1e6, _text(metadata), detached)
    return Waiter(claim_id, want, Holder(*holder), inbox, until / 1e6, seen, joined / 1e6)


def _text(metadata: object) -> str:
    return "" if metadata is None else json.dumps(metadata, ensure_ascii=False)
