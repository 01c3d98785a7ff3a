"""The rule for buckets: so many permits per period, at most ``burst`` of them at once.

Two rules for this file, as for ``rules.claim``: it decides everything, and it knows nothing else.
``now`` is the backend's wall clock in microseconds. memory and sqlite run this code; servers run
its translation.

A bucket is what is *owed*. A permit adds ``period`` to it, and every microsecond works off
``amount``; so all numbers are whole, and below 2 to the 53rd, where servers count exactly. As much
as ``burst`` permits may be owed at any time. A take that would go beyond may be *reserved*: it is
owed at once and used when it is within the limit, ``ready_in`` from now. So reservations stand in
the order in which they were asked for, and nobody who does not wait can pass them.

    a take that is            take                     give back          the debt worked off
    ------------------------  -----------------------  -----------------  -------------------
    unknown                   taken|reserved|(short)   (unknown)          -
    taken or reserved         (the same answer)        undone if it is    forgotten
                                                       the last, (kept)

In parentheses: nothing changes. A bucket in which nothing is owed is like one that never was:
nothing of it is kept, and its next take may come with other terms.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules import recent
from holdfast.rules.bucket_messages import (
    BucketReply,
    BucketRequest,
    GaveBack,
    GiveBack,
    Short,
    Take,
    Terms,
    Took,
)
from holdfast.rules.messages import Refused

FORMAT = 1
"""The version of the stored form; a reader accepts its own and the one before."""

OWED_LIMIT = 1 << 52
"""Terms, and reservations ahead of time, end here: twice as much is still counted exactly."""


TAKES_LONGEST = 1024
"""Characters of remembered takes: some thirty of them (decision 0014)."""


class Bucket(NamedTuple):
    """All that a backend keeps of one bucket: what was ``owed`` at ``at``, and the newest takes.

    ``takes`` is read and written by ``rules.recent``: when each may be used, and how many it took.
    """

    terms: Terms
    owed: int
    at: int
    takes: str

    @property
    def empty_at(self) -> int:
        """When everything is worked off, and the bucket can be forgotten."""
        return self.at + _ceil(self.owed, self.terms.amount)


def step(
    bucket: Bucket | None, request: BucketRequest, now: int, *, spent: bool = False
) -> tuple[Bucket | None, BucketReply]:
    """Answer one request; a bucket that comes back as the same object was not changed.

    ``None`` is a bucket in which nothing is owed. ``spent``: this backend may have forgotten what
    was taken, so one that it does not know starts without a single permit. As long as that is so
    it must keep the others, even if nothing is owed in them.
    """
    worked_off = known = _worked_off(bucket, now)
    if isinstance(request, GiveBack):
        after, gave_back = _give_back(known, request)
        return (bucket if after is known else after), gave_back
    refusal = _refusal(request)
    if refusal is not None:
        return bucket, refusal
    terms = request.terms
    if known is None:
        owed = terms.burst * terms.period if spent and bucket is None else 0
        known = Bucket(terms, owed, now, "")
    elif known.terms != terms:
        if not request.adopt:
            return bucket, Refused("terms", f"it is in use with {_words(known.terms)}")
        known = _converted(known, terms)
    taken, reply = _take(known, request)
    set_back = bucket is not None and bucket.at > now  # the clock: it is followed
    if taken is worked_off and not set_back:
        return bucket, reply
    return taken, reply


def _worked_off(bucket: Bucket | None, now: int) -> Bucket | None:
    """Give the bucket as it is now; a clock that was set back works off nothing, once."""
    if bucket is None:
        return None
    elapsed = max(0, now - bucket.at)
    owed = bucket.owed - elapsed * bucket.terms.amount
    return bucket._replace(owed=owed, at=now) if owed > 0 else None


def _take(bucket: Bucket, take: Take) -> tuple[Bucket, Took | Short]:
    terms, owed = bucket.terms, bucket.owed
    room = terms.burst * terms.period
    before = recent.outcome(bucket.takes, take.take_id)
    if before is not None:  # asked again
        ready_at = int(before.partition(" ")[0])
        # Nobody waits longer than the last in line: this matters where a clock was set back.
        ready_in = min(ready_at - bucket.at, _ceil(max(0, owed - room), terms.amount))
        return bucket, Took(max(0, ready_in), _remaining(bucket))
    after = owed + take.permits * terms.period
    ready_in = _ceil(max(0, after - room), terms.amount)
    if ready_in > take.wait or after > OWED_LIMIT:
        return bucket, Short(ready_in, _remaining(bucket))
    what = f"{bucket.at + ready_in} {take.permits}"
    takes, _ = recent.remember(bucket.takes, take.take_id, what, TAKES_LONGEST)
    taken = bucket._replace(owed=after, takes=takes)
    return taken, Took(ready_in, _remaining(taken))


def _give_back(bucket: Bucket | None, request: GiveBack) -> tuple[Bucket | None, GaveBack]:
    """Undo the last take: everybody before it was answered without it, and nobody came after.

    One that others came after stays: they were told when to go on, and whoever comes next would
    be put into the same moment as they (decision 0014).
    """
    before = None if bucket is None else recent.outcome(bucket.takes, request.take_id)
    if bucket is None or before is None:
        return bucket, GaveBack("unknown")
    takes = recent.without_last(bucket.takes, request.take_id)
    if takes is None:
        return bucket, GaveBack("kept")
    permits = int(before.partition(" ")[2])
    owed = bucket.owed - permits * bucket.terms.period
    return (bucket._replace(owed=owed, takes=takes) if owed > 0 else None), GaveBack("undone")


def _converted(bucket: Bucket, terms: Terms) -> Bucket:
    """Let the bucket go on under other terms: as many permits are owed, a broken one as whole."""
    permits = _ceil(bucket.owed, bucket.terms.period)
    return bucket._replace(terms=terms, owed=min(permits * terms.period, OWED_LIMIT))


def _remaining(bucket: Bucket) -> int:
    terms = bucket.terms
    return max(0, terms.burst * terms.period - bucket.owed) // terms.period


def _refusal(take: Take) -> Refused | None:
    amount, period, burst = take.terms
    if min(amount, period, burst) < 1 or max(burst * period, amount) > OWED_LIMIT:
        return Refused("terms", f"{_words(take.terms)}: too little or too much to count")
    if not 0 < take.permits <= burst:
        return Refused("permits", f"{take.permits} of {burst} can never be had at once")
    return None


def _words(terms: Terms) -> str:
    return f"{terms.amount} permits per {terms.period / 1e6:g} s and a burst of {terms.burst}"


def _ceil(amount: int, by: int) -> int:
    return -(-amount // by)
