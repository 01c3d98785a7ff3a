"""What is asked of a bucket, and what is answered: plain values, like those of a name.

A bucket is what ``limiter`` is made of: so many permits per period, at most ``burst`` at once. In
this family every time is a whole number of microseconds, so that a server's own arithmetic comes
to the same answers. Imported by those who use it only (decision 0005). The rule: ``rules.bucket``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from holdfast.rules.messages import Refused
from holdfast.values import Space


class Terms(NamedTuple):
    """``amount`` permits per ``period`` microseconds, and at most ``burst`` of them at once."""

    amount: int
    period: int
    burst: int


class Take(NamedTuple):
    """Take ``permits`` at once; if they are not there, reserve the next ones up to ``wait`` ahead.

    ``take_id`` is random and used for one take only: asked again with the same id, nothing is
    taken twice. While a bucket is in use, other terms than its own are refused; ``adopt`` lets it
    go on under these instead.
    """

    space: Space
    name: str
    take_id: str
    permits: int
    terms: Terms
    wait: int = 0
    adopt: bool = False


class GiveBack(NamedTuple):
    """Undo a take whose permits were not used and never will be."""

    space: Space
    name: str
    take_id: str


class Took(NamedTuple):
    """The permits are the caller's, from ``ready_in`` on; ``remaining`` more are there now.

    Count ``ready_in`` from the arrival of the reply, never from the sending of the question: here,
    unlike with a lease, later is the safe side.
    """

    ready_in: int
    remaining: int


class Short(NamedTuple):
    """Nothing was taken: so many would be there in ``retry_in``, if nobody else came before."""

    retry_in: int
    remaining: int


class GaveBack(NamedTuple):
    """What became of a take that was to be undone.

    ``undone``: as if it had never been. ``kept``: others have taken since and count on it, so it
    stays. ``unknown``: this bucket does not remember it (any more).
    """

    how: Literal["undone", "kept", "unknown"]


BucketRequest: TypeAlias = Take | GiveBack

BucketReply: TypeAlias = Took | Short | GaveBack | Refused
