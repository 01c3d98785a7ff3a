"""Records and buckets of one space, stepped by their rules. Used under the space's mutex.

What has ended goes away by itself: each call looks at the two that nobody looked at for longest,
which is more than it can make, and never a pause.
"""

from __future__ import annotations

from collections import deque

from holdfast.rules import bucket, record
from holdfast.rules.bucket import Bucket
from holdfast.rules.bucket_messages import BucketReply, BucketRequest
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Get, RecordReply, RecordRequest, Swap

Place = tuple[str, str, str]
"""Prefix, space and name."""

LOOKED_AT = 2


class Families:
    """All records and buckets of one ``memory://`` address."""

    def __init__(self) -> None:
        self.records: dict[Place, Kept] = {}
        self.buckets: dict[Place, Bucket | None] = {}
        self._round: deque[Place] = deque()
        self._bucket_round: deque[Place] = deque()
        self._floor = 0

    def answer(
        self, prefix: str, request: RecordRequest | BucketRequest, now: int
    ) -> RecordReply | BucketReply:
        """Carry out one request at ``now``, the wall clock in microseconds."""
        place = (prefix, request.space, request.name)
        if isinstance(request, (Get, Swap)):
            return self._record(place, request, now)
        return self._bucket(place, request, now)

    def _record(self, place: Place, request: RecordRequest, now: int) -> RecordReply:
        known = self.records.get(place)
        before = known or Kept(self._floor)
        after, reply = record.step(before, request, now)
        if after is not before:
            self.records[place] = after
            if known is None:
                self._round.append(place)
        for _ in range(min(LOOKED_AT, len(self._round))):
            oldest = self._round.popleft()
            kept = self.records[oldest]
            if record.is_blank(kept, now):
                self._floor = max(self._floor, kept.version)
                del self.records[oldest]
            else:
                self._round.append(oldest)
        return reply

    def _bucket(self, place: Place, request: BucketRequest, now: int) -> BucketReply:
        known = self.buckets.get(place)
        after, reply = bucket.step(known, request, now)
        if after is not known:
            if place not in self.buckets:
                self._bucket_round.append(place)
            self.buckets[place] = after
        for _ in range(min(LOOKED_AT, len(self._bucket_round))):
            oldest = self._bucket_round.popleft()
            kept = self.buckets[oldest]
            if kept is None or kept.empty_at <= now:
                del self.buckets[oldest]
            else:
                self._bucket_round.append(oldest)
        return reply
