"""What a crew of workers is to do: where, on which names, how often, with which bad habits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal, Self, TypeAlias, get_args

Mode: TypeAlias = Literal["sync", "threads", "async", "mixed"]
"""One thread; several threads of one client; several tasks of one client; the last two at once."""

MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How often, of all turns, a worker does what is out of the ordinary: from 0 to 1."""

    tries: float = 0.15
    """It will not wait at all."""

    waits_little: float = 0.35
    """It gives up soon; otherwise it waits as long as it takes."""

    unrenewed: float = 0.05
    limited: float = 0.05
    """With a ``max_hold`` that may be too short."""

    extends: float = 0.1
    errs: float = 0.1
    """It leaves by an exception."""

    breaks: float = 0.02
    forces: float = 0.25
    """Of the breaks, how many do not wait for the holder."""

    cancels: float = 0.2
    """Only tasks: cancelled at some moment, waiting, holding or leaving."""

    blocks: float = 0.02
    """Only tasks: the whole event loop does nothing for longer than the lease lives."""

    errands: float = 0.0
    """It does something else than to take one lock, see ``errands``."""

    shares: float = 0.7
    """Of those who want a readers/writer name, how many read."""

    forks: float = 0.01
    """Only ``sync`` workers: a child is forked while a lease is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One crew's orders. ``folder`` is where histories and resources are; times are seconds."""

    url: str
    folder: str
    prefix: str = "holdfast"
    names: tuple[str, ...] = ("a", "b", "c")
    seed: int = 0
    actors: int = 3
    """How many threads or tasks a worker has, if it has several."""

    turns: int | None = None
    """How many turns each of them takes; otherwise until the crew is told to stop."""

    ttl: float = 1.0
    hold: float = 0.02
    """How long a stay takes at most, if nothing unusual happens."""

    rest: float = 0.01
    """How long a worker does nothing between two turns, at most."""

    call_limit: float = 2.0
    leave_within: float = 60.0
    """When it was told to stop a worker ends after that long, whatever it is waiting for."""

    habits: Habits = field(default_factory=Habits)

    def to_line(self, worker: str, mode: Mode) -> str:
        """Write it down for one worker, without line breaks."""
        return json.dumps({"worker": worker, "mode": mode, "plan": asdict(self)})

    @classmethod
    def of(cls, fields: dict[str, object]) -> Self:
        """Read back what ``to_line`` wrote of the plan."""
        names, habits = fields.pop("names"), fields.pop("habits")
        if not isinstance(names, list) or not isinstance(habits, dict):
            raise TypeError("this is not a plan")
        return cls(names=tuple(names), habits=Habits(**habits), **fields)  # type: ignore[arg-type]
