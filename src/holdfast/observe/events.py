"""One frozen value per thing that happens. Flows make them; observers receive them.

An observer is any callable that takes one event. It is called on the thread where the thing
happened (often the keeper's), must not block, and what it raises is logged, never propagated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from holdfast.values import Tenure


@dataclass(frozen=True, slots=True)
class Event:
    """What every event says: the name that it is about."""

    name: str


@dataclass(frozen=True, slots=True)
class Claimed(Event):
    """A claim was sent for the first time."""

    wait: float | None


@dataclass(frozen=True, slots=True)
class Granted(Event):
    """A lease begins."""

    token: int
    waited_for: float


@dataclass(frozen=True, slots=True)
class Busy(Event):
    """A claim was given up because others hold the name."""

    waited_for: float
    holders: tuple[Tenure, ...]


@dataclass(frozen=True, slots=True)
class Waited(Event):
    """A claim has been waiting for another ten seconds."""

    waited_for: float
    holders: tuple[Tenure, ...]


@dataclass(frozen=True, slots=True)
class Renewed(Event):
    """A lease was confirmed for longer."""

    token: int
    remaining: float


@dataclass(frozen=True, slots=True)
class RenewalUnknown(Event):
    """A renewal got no answer; it is tried again until the deadline."""

    token: int
    remaining: float
    error: str


@dataclass(frozen=True, slots=True)
class Lost(Event):
    """A lease ended before it was released."""

    token: int
    held_for: float
    reason: str


@dataclass(frozen=True, slots=True)
class Released(Event):
    """A lease was given back."""

    token: int
    held_for: float


@dataclass(frozen=True, slots=True)
class ReleaseFailed(Event):
    """The backend did not confirm a release; it is tried again, and the lease ends by itself."""

    token: int
    held_for: float
    error: str


@dataclass(frozen=True, slots=True)
class Broken(Event):
    """This client took a grant away from its holder."""

    token: int
    reason: str
    forced: bool


class Observer(Protocol):
    """Receives every event."""

    def __call__(self, event: Event, /) -> None:
        """Take note of ``event``; do not block."""
