"""What is asked of a record, and what is answered: plain values, like those of a name.

A record is a value under a space and a name, with a version: what ``cell``, ``once`` and the slots
of ``singleton`` are made of. In this family every time is a whole number of microseconds, so that
a server's own arithmetic comes to the same answers. Imported by those who use it only: whoever
takes a lock does not pay for these classes (decision 0005). The rule is ``rules.record``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from holdfast.rules.messages import Refused
from holdfast.values import Space


class Get(NamedTuple):
    """Show the record; changes nothing."""

    space: Space
    name: str


class Swap(NamedTuple):
    """Put ``value`` in the place of the version that was seen; ``None`` deletes.

    ``if_version`` 0 stands for "there is none". ``swap_id`` is random and used for one swap only:
    asked again with the same id, a swap that was done says so and does nothing. ``keep`` is how
    long the value lives, ``None`` for ever. ``fence`` is the token of the lease under which this
    is written, 0 for none: a smaller one than the record has seen is refused.
    """

    space: Space
    name: str
    swap_id: str
    value: bytes | None
    if_version: int
    keep: int | None = None
    fence: int = 0


class Entry(NamedTuple):
    """The record as it stands; ``value`` is ``None``, and ``version`` 0, where there is none.

    ``left`` is how long the value still lives (``None``: for ever), ``fence`` the largest token
    under which it was written, ``at`` the backend's wall clock when it answered: a look that is
    asked together with a claim came after the grant if ``at`` is not before its ``granted_at``.
    """

    value: bytes | None
    version: int
    left: int | None
    fence: int
    at: int


class Swapped(NamedTuple):
    """It was done, now or when it was first asked, and made this version."""

    version: int
    at: int


class Moved(NamedTuple):
    """It was not done: the record has moved on (``version``), or a newer lease wrote (``fence``).

    ``certain`` is about a swap that is asked *again* because its reply was lost: if ``False``, the
    record no longer remembers who replaced ``if_version``, and it may have been this very swap. To
    a swap that is asked for the first time it says nothing.
    """

    why: Literal["version", "fence"]
    entry: Entry
    certain: bool


RecordRequest: TypeAlias = Get | Swap

RecordReply: TypeAlias = Entry | Swapped | Moved | Refused
