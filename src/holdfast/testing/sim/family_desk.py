"""A model server's records and buckets: the rules of both families over what it remembers."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from holdfast.rules import bucket, recent, record
from holdfast.rules.bucket import Bucket
from holdfast.rules.bucket_messages import BucketReply, BucketRequest, GiveBack, Take
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Get, RecordReply, RecordRequest, Swap, Swapped

Place: TypeAlias = tuple[str, str]
"""A space and a name."""


class FamilyWatching(Protocol):
    """Who is told of everything that becomes of records and buckets."""

    def swapped(self, request: Swap, before: Kept, after: Kept, now: int) -> None:
        """Note that a record was changed."""
        ...

    def drew(self, request: Take | GiveBack, reply: BucketReply, *, anew: bool) -> None:
        """Note what a bucket has answered, and whether a take was counted by this very step."""
        ...


class FamilyDesk:
    """Steps one record or bucket at a time; ``now`` is the server's wall clock in microseconds."""

    def __init__(self, watch: FamilyWatching) -> None:
        self.records: dict[Place, Kept] = {}
        self.buckets: dict[Place, Bucket | None] = {}
        self._watch = watch

    def answer(self, request: RecordRequest | BucketRequest, now: int) -> RecordReply | BucketReply:
        """Carry out one request."""
        place = (request.space, request.name)
        if isinstance(request, (Get, Swap)):
            return self._record(place, request, now)
        return self._bucket(place, request, now)

    def _record(self, place: Place, request: RecordRequest, now: int) -> RecordReply:
        before = self.records.get(place) or Kept()
        after, reply = record.step(before, request, now)
        if after is not before:
            self.records[place] = after
            if isinstance(request, Swap) and isinstance(reply, Swapped):
                self._watch.swapped(request, before, after, now)
        return reply

    def _bucket(self, place: Place, request: BucketRequest, now: int) -> BucketReply:
        before = self.buckets.get(place)
        after, reply = bucket.step(before, request, now)
        self.buckets[place] = after
        noted = [
            one and recent.outcome(one.takes, request.take_id) for one in (before, after)
        ]  # asked again, a take is noted as it was
        self._watch.drew(request, reply, anew=noted[0] != noted[1])
        return reply
