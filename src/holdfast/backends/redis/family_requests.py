"""Requests to records and buckets as the words of a script: no I/O. Counterpart of ``requests``.

A script each; a record or bucket is one key, in the slot of everything else with its name. Times
are microseconds already. Numbers beyond what Lua counts exactly are cut back where that cannot
change an answer.
"""

from __future__ import annotations

import struct

from holdfast.backends.redis.keys import KeyRing
from holdfast.backends.redis.requests import Word
from holdfast.rules.bucket_messages import BucketRequest, GiveBack, Take, Terms
from holdfast.rules.record_messages import Get, RecordRequest, Swap

EXACT = 1 << 53


def written(
    request: RecordRequest | BucketRequest, keys: KeyRing
) -> tuple[str, bytes, tuple[Word, ...]]:
    """Give the script's name, the request's key, and the words that follow the quarantine."""
    name = ""
    words: tuple[Word, ...] = ()
    match request:
        case Get():
            name = "record_get"
        case Swap():
            name, words = "record_swap", _swap(request)
        case Take():
            name, words = "bucket_take", _take(request)
        case GiveBack():
            name, words = "bucket_give_back", (request.take_id,)
    family = name.partition("_")[0]
    return name, keys.of_family(family, request.space, request.name), words


def _swap(swap: Swap) -> tuple[Word, ...]:
    keep = "" if swap.keep is None else swap.keep
    value = (b"0", b"") if swap.value is None else (b"1", swap.value)
    return (swap.swap_id, swap.if_version, keep, swap.fence, *value)


def _take(take: Take) -> tuple[Word, ...]:
    return take.take_id, wanted(take.permits, take.terms, take.wait, adopt=take.adopt)


def wanted(permits: int, terms: Terms, wait: int, *, adopt: bool) -> bytes:
    """Write what a take wants: in one word, which the server reads once for all that are alike."""
    return struct.pack("<dddddB", permits, *terms, min(wait, EXACT), adopt) + b" %d;" % permits
