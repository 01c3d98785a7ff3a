"""One frozen value per thing that happens. Flows make them; observers receive them.

An observer is any callable that takes one event. It is called on the thread where the thing
happened (often the keeper's), must not block, and what it raises is logged, never propagated.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

from holdfast.values import Tenure


class Claimed(NamedTuple):
    """A claim was sent for the first time."""

    name: str
    wait: float | None


class Queued(NamedTuple):
    """The backend has confirmed a place in line."""

    name: str
    waited_for: float


class PlaceLost(NamedTuple):
    """A place in line was lost, or nobody could be told there: others may be let in first."""

    name: str
    waited_for: float
    reason: str


class Granted(NamedTuple):
    """A lease begins."""

    name: str
    token: int
    waited_for: float


class Busy(NamedTuple):
    """A claim was given up because others hold the name."""

    name: str
    waited_for: float
    holders: tuple[Tenure, ...]


class Waited(NamedTuple):
    """A claim has been waiting for another ten seconds."""

    name: str
    waited_for: float
    holders: tuple[Tenure, ...]


class Renewed(NamedTuple):
    """A lease was confirmed for longer."""

    name: str
    token: int
    remaining: float


class RenewalUnknown(NamedTuple):
    """A renewal got no answer; it is tried again until the deadline."""

    name: str
    token: int
    remaining: float
    error: str


class Lost(NamedTuple):
    """A lease ended before it was released."""

    name: str
    token: int
    held_for: float
    reason: str


class Released(NamedTuple):
    """A lease was given back."""

    name: str
    token: int
    held_for: float


class ReleaseFailed(NamedTuple):
    """The backend did not confirm a release; it is tried again, and the lease ends by itself."""

    name: str
    token: int
    held_for: float
    error: str


class Unrecorded(NamedTuple):
    """A leader could not be put down in its journal: observers know of it only if they looked."""

    name: str
    token: int
    error: str


class Broken(NamedTuple):
    """This client took a grant away from its holder."""

    name: str
    token: int
    reason: str
    forced: bool


class Skipped(NamedTuple):
    """A singleton did not run: another copy is at work (``busy``), or its run is done (``done``).

    ``holders`` are those who are at work.
    """

    name: str
    why: Literal["busy", "done"]
    holders: tuple[Tenure, ...] = ()


class Repeated(NamedTuple):
    """What was asked for under a once key had been done before; its result was given back."""

    name: str


class Limited(NamedTuple):
    """A limiter gave no permit: so many would be there after ``retry_after`` seconds."""

    name: str
    permits: int
    retry_after: float


Event: TypeAlias = (
    Claimed
    | Queued
    | PlaceLost
    | Granted
    | Busy
    | Waited
    | Renewed
    | RenewalUnknown
    | Lost
    | Released
    | ReleaseFailed
    | Unrecorded
    | Broken
    | Skipped
    | Repeated
    | Limited
)
"""Anything that happens."""


class Observer(Protocol):
    """Receives every event."""

    def __call__(self, event: Event, /) -> None:
        """Take note of ``event``; do not block."""
