"""What the server has stored of a name, read past the scripts and turned into the rule's record."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

from holdfast.backends.redis.about import BETWEEN
from holdfast.rules.holding import Grant, Record, Waiter
from holdfast.rules.messages import Ending, Want
from holdfast.values import KINDS, Holder, Kind

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
    stored or '',
    redis.call('GET', KEYS[2]) or '',
    redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'),
    redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
    waiters, lives
}
"""

_HEADS = {1: struct.Struct("<BBdddddd"), 2: struct.Struct("<BBddddddd")}
"""How a record begins, by its format; what the second adds is for the scripts alone."""

_NEW = (2, 1, 1, 0, 0, 0, 0, 0)
"""What a name is that nobody has asked about yet."""

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
    data, ended, line, patience, packed, lives = raw
    head = _HEADS[data[0]].unpack_from(data) if data else _NEW
    _, kind, capacity, count, waiting, joins, token, buried_until = map(int, head[:8])
    order, until = _scores(line), _scores(patience)
    waiters = {claim_id.decode(): fields for claim_id, fields in packed}
    assert waiting == len(order)
    assert order.keys() == until.keys() == waiters.keys()
    assert all(score <= joins for score in order.values())
    shape = KINDS[kind - 1], capacity
    record = Record(
        name,
        *shape,
        token,
        _grants(shape, data, count),
        tuple(_waiter(shape, one, waiters[one], until[one]) for one in order),
    )
    return Stored(record, graves(ended.decode()), buried_until / 1e6, tuple(lives))


def lifeless(grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """Give the rule's grants as the server keeps them: each renewal brings its own ttl."""
    return tuple(grant._replace(want=grant.want._replace(ttl=0.0)) for grant in grants)


def graves(text: str) -> tuple[tuple[str, Ending, float], ...]:
    """Read a text of tombstones, the rule's or the server's."""
    found = []
    for entry in text.split(";")[:-1]:
        claim_id, _, rest = entry.rpartition(" ")
        found.append((claim_id, _ENDINGS[rest[0]], int(rest[1:]) / 1000))
    return tuple(found)


def _scores(raw: list[bytes]) -> dict[str, int]:
    return {raw[i].decode(): int(float(raw[i + 1])) for i in range(0, len(raw), 2)}


def _grants(shape: tuple[Kind, int], data: bytes, count: int) -> tuple[Grant, ...]:
    """Read the grants that follow the head of a record; nothing may follow them."""
    start = at = _HEADS[data[0]].size if data else 0
    found = []
    for _ in range(count):
        token, ends, since = struct.unpack_from("<ddd", data, at)
        claim_id, at = _text(data, at + 24, "<H")
        (weight,) = struct.unpack_from("<d", data, at)
        inbox, at = _text(data, at + 8, "<H")
        about, at = _text(data, at, "<I")
        slots, at = _text(data, at, "<I")
        broken, at = _text(data, at, "<I")
        want, holder = _about(shape, weight, 0.0, about)
        numbers = tuple(map(int, slots.split(","))) if slots else ()
        lives = ends / 1e6, since / 1e6
        found.append(Grant(claim_id, want, holder, inbox, int(token), *lives, numbers, broken))
    assert at == max(len(data), start)
    return tuple(found)


def _text(data: bytes, at: int, size: str) -> tuple[str, int]:
    (length,) = struct.unpack_from(size, data, at)
    start = at + struct.calcsize(size)
    return data[start : start + length].decode(), start + length


def _waiter(shape: tuple[Kind, int], claim_id: str, fields: list[Any], until: int) -> Waiter:
    about, inbox, weight, ttl, seen, joined = fields
    want, holder = _about(shape, weight, ttl / 1e6, about.decode())
    return Waiter(claim_id, want, holder, inbox.decode(), until / 1e6, seen, joined / 1e6)


def _about(shape: tuple[Kind, int], weight: float, ttl: float, text: str) -> tuple[Want, Holder]:
    who, _, metadata = text[1:].partition(BETWEEN)
    return Want(*shape, int(weight), ttl, metadata, text[0] == "1"), Holder(*json.loads(who))
