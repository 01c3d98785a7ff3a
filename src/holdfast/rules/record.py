"""The rule for records: one value under a name, replaced only by those who saw what they replace.

Two rules for this file, as for ``rules.claim``: it decides everything, and it knows nothing else.
``now`` is the backend's wall clock in microseconds: records outlive reboots, so their ends cannot
be on a clock that starts anew. memory and sqlite run this code; servers run its translation.

    a record that is    get         swap from its version     swap from another
    ------------------  ----------  ------------------------  ------------------------------
    absent (version 0)  (absent)    there, or still absent    (moved)
    there               (shown)     there, or absent          (moved)
    past its end        (absent)    like absent               (moved)

In parentheses: nothing changes. Before it looks at versions, a swap that this record remembers is
told that it was done; one with a smaller fence than the record has seen is refused.

**Versions are never used twice**: each swap, a deletion too, mints max(last + 1, ``now``), and what
a backend has forgotten starts above the highest of them. **An absent record is remembered for a
minute** more, its ids and its fence with it, so that a swap whose reply was lost can still be
asked about; then it is blank.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules import recent
from holdfast.rules.messages import Refused
from holdfast.rules.record_messages import (
    Entry,
    Get,
    Moved,
    RecordReply,
    RecordRequest,
    Swap,
    Swapped,
)

FORMAT = 1
"""The version of the stored form; a reader accepts its own and the one before."""

VALUE_LIMIT = 1 << 20
"""Bytes of a value: a record is for a result or a setting, not for files."""

KEEP_LIMIT = 100 * 365 * 86_400_000_000
"""A hundred years: points in time stay below 2 to the 53rd, where servers count exactly."""

REMEMBERED_FOR = 60_000_000
"""How long an absent record still knows its swaps and its fence."""


SWAPS_LONGEST = 2048
"""Characters of remembered swaps: some sixty of them."""


class Kept(NamedTuple):
    """All that a backend keeps of one record; a blank one has no ``swaps``, only a floor.

    ``version`` is the newest, of a deletion too. ``swaps`` is read and written by ``rules.recent``;
    ``dropped`` is the newest version of which it no longer says who made it.
    """

    version: int = 0
    value: bytes | None = None
    ends_at: int | None = None
    fence: int = 0
    swaps: str = ""
    dropped: int = 0


def step(kept: Kept, request: RecordRequest, now: int) -> tuple[Kept, RecordReply]:
    """Answer one request; a record that comes back as the same object was not changed."""
    known = Kept(kept.version) if is_blank(kept, now) else kept
    if isinstance(request, Get):
        return kept, _entry(known, now)
    refusal = _refusal(request)
    if refusal is not None:
        return kept, refusal
    done = recent.outcome(known.swaps, request.swap_id)
    if done is not None:
        return kept, Swapped(int(done), now)
    entry = _entry(known, now)
    if 0 < request.fence < known.fence:
        return kept, Moved("fence", entry, _is_certain(known, request))
    if request.if_version != entry.version:
        return kept, Moved("version", entry, _is_certain(known, request))
    return _swapped(known, request, now)


def is_blank(kept: Kept, now: int) -> bool:
    """Whether nothing but the version still counts: a backend may forget the rest."""
    return not kept.swaps or (kept.ends_at is not None and now >= kept.ends_at + REMEMBERED_FOR)


def _swapped(kept: Kept, swap: Swap, now: int) -> tuple[Kept, Swapped]:
    version = max(kept.version + 1, now)
    swaps, forgotten = recent.remember(kept.swaps, swap.swap_id, str(version), SWAPS_LONGEST)
    ends_at = None if swap.keep is None else now + swap.keep
    if swap.value is None and ends_at is None:
        ends_at = now
    after = Kept(
        version=version,
        value=swap.value,
        ends_at=ends_at,
        fence=max(kept.fence, swap.fence),
        swaps=swaps,
        dropped=int(forgotten) if forgotten else kept.dropped,
    )
    return after, Swapped(version, now)


def _entry(kept: Kept, now: int) -> Entry:
    ends_at = kept.ends_at
    if kept.value is None or (ends_at is not None and ends_at <= now):
        return Entry(None, 0, None, kept.fence, now)
    left = None if ends_at is None else ends_at - now
    return Entry(kept.value, kept.version, left, kept.fence, now)


def _is_certain(kept: Kept, swap: Swap) -> bool:
    """Whether a swap that is not remembered was certainly not done.

    Done, it would have made the version that follows ``if_version``. So whoever made that version
    must still be remembered: nothing at or after it was dropped. A blank record remembers nobody.
    """
    return bool(kept.swaps) and swap.if_version >= kept.dropped


def _refusal(swap: Swap) -> Refused | None:
    size = 0 if swap.value is None else len(swap.value)
    if size > VALUE_LIMIT:
        return Refused("value", f"{size} bytes are more than the {VALUE_LIMIT} of a value")
    if swap.keep is not None and not 0 < swap.keep <= KEEP_LIMIT:
        return Refused("keep", "a value lives for more than nothing and at most a hundred years")
    return None
