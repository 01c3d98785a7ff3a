"""A write guarded by the token is never overwritten by an older one, nor is the newest kept out.

The guard refuses tokens that are smaller than the largest it has seen. What is older and newer is
decided by the true order of the grants. Checked wherever tokens are promised to increase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.resource import Cell, Write

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "the token fences"


class Fencing:
    """Holds the guard's decisions against the order of the grants."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def wrote(self, write: Write, before: Cell, taken: bool) -> None:  # noqa: FBT001 - the outcome
        """Look at a write that the guarded cell has taken or refused."""
        if not self._watch.promises.tokens:
            return
        told = f"{write.who}'s write to {write.name!r} (token {write.token})"
        if taken and write.grant < before.grant:
            self._watch.fail(
                NAME, f"{told} overwrote the newer one of {before.who} (token {before.token})"
            )
        elif not taken and write.grant > before.grant:
            self._watch.fail(
                NAME, f"{told} was refused in favour of {before.who} (token {before.token})"
            )
