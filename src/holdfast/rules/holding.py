"""What a backend keeps of one name: its grants, its queue, its last token, the ids that ended.

Values only; ``rules.claim`` says how they change. A backend stores a ``Record`` in whatever form
suits it, together with ``FORMAT``, and gives it back unchanged.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules.messages import Want
from holdfast.values import Holder, Kind

FORMAT = 1
"""The version of the stored form; a reader accepts its own and the one before."""

IDLE_FOR = 86_400.0
"""A record that nobody touched for this long, and that holds nothing, may be thrown away."""


class Grant(NamedTuple):
    """A claim that holds until ``ends_at``; ``broken`` says why it may not be renewed."""

    claim_id: str
    want: Want
    holder: Holder
    inbox: str
    token: int
    ends_at: float
    granted_at: float
    slots: tuple[int, ...] = ()
    broken: str = ""


class Waiter(NamedTuple):
    """A claim in the queue, alive until ``patience_until``."""

    claim_id: str
    want: Want
    holder: Holder
    inbox: str
    patience_until: float
    seen_token: int
    joined_at: float


class Record(NamedTuple):
    """All there is to know of one name. ``ended`` is read and written by ``rules.tombstones``."""

    name: str
    kind: Kind = "lock"
    capacity: int = 1
    last_token: int = 0
    grants: tuple[Grant, ...] = ()
    queue: tuple[Waiter, ...] = ()
    ended: str = ""

    @property
    def idle(self) -> bool:
        """Whether nobody holds the name and nobody waits for it."""
        return not self.grants and not self.queue
