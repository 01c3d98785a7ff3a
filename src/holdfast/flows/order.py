"""What one acquire asks for, validated once at the edge: the flow trusts it."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from holdfast.rules.messages import Want


class Order(NamedTuple):
    """A name, what is wanted of it, and on which terms."""

    name: str
    want: Want
    wait: float | None
    renew: bool = True
    max_hold: float = inf
    reentrant: bool = False

    def with_wait(self, wait: float | None) -> Order:
        """Give the same order with another ``wait``."""
        return self if wait == self.wait else self._replace(wait=wait)

    def with_weight(self, weight: int) -> Order:
        """Give the same order for another share of the name's capacity."""
        want = self.want
        return self if weight == want.weight else self._replace(want=want._replace(weight=weight))

    def with_name(self, name: str) -> Order:
        """Give the same order for another name."""
        return self if name == self.name else self._replace(name=name)
