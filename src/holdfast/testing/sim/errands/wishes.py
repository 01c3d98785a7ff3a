"""What callers can wish for beside a single lock: values, as everything in a plan.

Each has a ``name``, a pause ``before`` it begins, and says for how long a lease that it takes lives
(``ttl``) and for how long it stays inside (``stay``); those that take none say 0.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from holdfast.rules.bucket_messages import Terms


class Add(NamedTuple):
    """Add one to a cell, so many times; or delete it."""

    name: str
    before: float = 0.0
    times: int = 1
    takes: float = 0.0  # how long it takes to work out the next value
    wait: float | None = None
    deletes: bool = False

    @property
    def ttl(self) -> float:
        """Nothing is held."""
        return 0.0

    @property
    def stay(self) -> float:
        """Nobody is in the way."""
        return 0.0


class DoOnce(NamedTuple):
    """Do what a key stands for, or be given its result."""

    name: str
    before: float = 0.0
    takes: float = 0.1
    ttl: float = 2.0
    wait: float | None = None

    @property
    def stay(self) -> float:
        """As long as the work takes."""
        return self.takes


class RunPer(NamedTuple):
    """Ask again and again whether it is time for the run of this slot."""

    name: str
    before: float = 0.0
    per: float = 2.0
    takes: float = 0.1
    ttl: float = 1.0
    wait: float | None = 0.0
    asks: int = 10
    every: float = 0.3

    @property
    def stay(self) -> float:
        """As long as the run takes."""
        return self.takes


class Draw(NamedTuple):
    """Take permits of a shared rate, so many times."""

    name: str
    terms: Terms
    before: float = 0.0
    permits: int = 1
    wait: float | None = None  # 0: only if they are there
    times: int = 3
    every: float = 0.05

    @property
    def ttl(self) -> float:
        """Nothing is held."""
        return 0.0

    @property
    def stay(self) -> float:
        """Nobody is in the way."""
        return 0.0


class HoldAll(NamedTuple):
    """Hold several names, all or none, work under them, give them back."""

    names: tuple[str, ...]
    before: float = 0.0
    ttl: float = 2.0
    wait: float | None = None
    steps: tuple[float, ...] = (0.1,)
    at_once: bool = True  # the backend can try them in one step

    @property
    def name(self) -> str:
        """The first of the names."""
        return self.names[0]

    @property
    def stay(self) -> float:
        """As long as the work takes."""
        return sum(self.steps)


class Preside(NamedTuple):
    """Lead for a while, and resign."""

    name: str
    before: float = 0.0
    ttl: float = 2.0
    wait: float | None = None
    steps: tuple[float, ...] = (0.1,)

    @property
    def stay(self) -> float:
        """As long as it leads."""
        return sum(self.steps)


class Observe(NamedTuple):
    """Follow who leads."""

    name: str
    before: float = 0.0
    lasts: float = 5.0

    @property
    def ttl(self) -> float:
        """Nothing is held."""
        return 0.0

    @property
    def stay(self) -> float:
        """Nobody is in the way."""
        return 0.0


Wish: TypeAlias = Add | DoOnce | RunPer | Draw | HoldAll | Preside | Observe
