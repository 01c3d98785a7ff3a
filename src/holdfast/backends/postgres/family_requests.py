"""Requests to records and buckets as words: no I/O. Counterpart of ``requests``.

Times are microseconds already. Numbers beyond what the database counts exactly are cut back where
that cannot change an answer.
"""

from __future__ import annotations

from base64 import b64encode

from holdfast.rules.bucket_messages import BucketRequest, GiveBack, Take
from holdfast.rules.record_messages import Get, RecordRequest, Swap

LARGEST = 1 << 62


def written(request: RecordRequest | BucketRequest) -> list[object]:
    """Give the function's name and its words."""
    match request:
        case Get():
            return ["record_get", request.name, request.space]
        case Swap():
            return _swap(request)
        case Take():
            terms = [min(number, LARGEST) for number in request.terms]
            permits, wait = min(request.permits, LARGEST), min(request.wait, LARGEST)
            head = ["bucket_take", request.name, request.space, request.take_id]
            return [*head, permits, *terms, wait, request.adopt]
        case GiveBack():
            return ["bucket_give_back", request.name, request.space, request.take_id]


def _swap(swap: Swap) -> list[object]:
    value = None if swap.value is None else b64encode(swap.value).decode()
    head = ["record_swap", swap.name, swap.space, swap.swap_id, value]
    return [*head, swap.if_version, swap.keep, swap.fence]
