"""What the server has stored of a name, read past the scripts and turned into the rule's record."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from holdfast.rules.holding import Grant, Record, Waiter
from holdfast.rules.messages import Ending, Want
from holdfast.values import Holder

DUMP = """
local stored = redis.call('GET', KEYS[1])
local waiters, lives = {}, {}
local packed = redis.call('HGETALL', KEYS[5])
for i = 1, #packed, 2 do
    waiters[#waiters + 1] = {packed[i], cmsgpack.unpack(packed[i + 1])}
end
for i = 1, 5 do
    lives[i] = redis.call('PTTL', KEYS[i])
end
return {
    stored and cmsgpack.unpack(stored) or {1, 'lock', 1, 0, 0, 0, 0, {}},
    redis.call('GET', KEYS[2]) or '',
    redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'),
    redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
    waiters, lives
}
"""

_ENDINGS: dict[str, Ending] = {
    "r": "released",
    "w": "withdrawn",
    "l": "lapsed",
    "g": "gone",
    "b": "broken",
}


class Stored(NamedTuple):
    """One name on the server: ``graves`` says of each buried id how it ended and until when.

    ``lives`` are milliseconds, of the record, the tombstones, the queue, the patience and the
    waiters: -1 is for ever, -2 no such key.
    """

    record: Record
    graves: tuple[tuple[str, Ending, float], ...]
    buried_until: float
    lives: tuple[int, ...]


def stored(name: str, raw: list[Any]) -> Stored:
    """Read a dump; its parts have to fit each other."""
    fields, ended, line, patience, packed, lives = raw
    form, kind, capacity, token, buried_until, waiting, joins, held = fields
    order, until = _scores(line), _scores(patience)
    waiters = {claim_id.decode(): fields for claim_id, fields in packed}
    assert form == 1
    assert waiting == len(order)
    assert order.keys() == until.keys() == waiters.keys()
    assert all(score <= joins for score in order.values())
    shape = kind.decode(), capacity
    record = Record(
        name,
        kind.decode(),
        capacity,
        token,
        tuple(_grant(shape, fields) for fields in held),
        tuple(_waiter(shape, one, waiters[one], until[one]) for one in order),
    )
    return Stored(record, graves(ended.decode()), buried_until / 1e6, tuple(lives))


def graves(text: str) -> tuple[tuple[str, Ending, float], ...]:
    """Read a text of tombstones, the rule's or the server's."""
    found = []
    for entry in text.split(";")[:-1]:
        claim_id, _, rest = entry.rpartition(" ")
        found.append((claim_id, _ENDINGS[rest[0]], int(rest[1:]) / 1000))
    return tuple(found)


def _scores(raw: list[bytes]) -> dict[str, int]:
    return {raw[i].decode(): int(float(raw[i + 1])) for i in range(0, len(raw), 2)}


def _grant(shape: tuple[Any, int], fields: list[Any]) -> Grant:
    who, inbox, *wanted, claim_id, token, ends, since, slots, broken = fields
    return Grant(
        claim_id.decode(),
        _want(shape, wanted),
        Holder(*json.loads(who)),
        inbox.decode(),
        token,
        ends / 1e6,
        since / 1e6,
        tuple(slots),
        broken.decode(),
    )


def _waiter(shape: tuple[Any, int], claim_id: str, fields: list[Any], until: int) -> Waiter:
    who, inbox, *wanted, seen, joined = fields
    want, holder = _want(shape, wanted), Holder(*json.loads(who))
    return Waiter(claim_id, want, holder, inbox.decode(), until / 1e6, seen, joined / 1e6)


def _want(shape: tuple[Any, int], fields: list[Any]) -> Want:
    weight, ttl, metadata, detached = fields
    return Want(*shape, weight, ttl / 1e6, metadata.decode(), bool(detached))
