"""What is wrong between the clients of a sandbox and its backend, right now.

``faults`` changes it, the wires and ears look at it before every exchange. A condition that names
no client holds for all of them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

WhatHappened: TypeAlias = Literal["none", "unknown"]
"""What a request that gets no answer has done: nothing, or nobody can tell."""


class Outage(NamedTuple):
    """The backend cannot be reached: requests are lost, or (``unknown``) only their replies."""

    client: str | None
    outcome: WhatHappened
    transient: bool


class Delay(NamedTuple):
    """Each exchange takes this long."""

    client: str | None
    seconds: float


class Conditions:
    """Outages and delays; the last outage to begin says how requests fail."""

    def __init__(self) -> None:
        self._outages: list[Outage] = []
        self._delays: list[Delay] = []

    def begin(self, condition: Outage | Delay) -> None:
        """Make it hold from now on."""
        if isinstance(condition, Outage):
            self._outages.append(condition)
        else:
            self._delays.append(condition)

    def end(self, condition: Outage | Delay) -> None:
        """Make it hold no longer; equal ones are ended one at a time."""
        if isinstance(condition, Outage):
            self._outages.remove(condition)
        else:
            self._delays.remove(condition)

    def outage(self, client: str) -> Outage | None:
        """Say how this client is cut off, if it is."""
        outages = tuple(self._outages)
        return next((one for one in reversed(outages) if one.client in {None, client}), None)

    def delay(self, client: str) -> float:
        """Say how long an exchange of this client takes: delays add up."""
        delays = tuple(self._delays)
        return sum(one.seconds for one in delays if one.client in {None, client})
