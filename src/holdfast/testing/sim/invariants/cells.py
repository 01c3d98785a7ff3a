"""No update of a cell is lost, done twice, or called undone though it was done.

Every caller of a simulated world adds one. So each write that lands makes one more of what it
replaces, with a version that no cell of that name ever had; whoever is told of a version has made
it; and whoever is told that nothing was changed has changed nothing. Checked in every world; what a
server has forgotten was not done, but its versions are not used again either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.flows.content import unpacked
from holdfast.flows.swap import Versioned
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Swap

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "no update is lost"


class _Made(NamedTuple):
    by: str
    value: int


class Cells:
    """Remembers every version that was ever made, and by which swap."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._newest: dict[str, int] = {}
        self._made: dict[tuple[str, int], _Made] = {}
        self._done: set[str] = set()  # swaps that have landed
        self._confirmed: set[tuple[str, int]] = set()

    def forget(self) -> None:
        """Note that no write has landed in the server's new memory."""
        self._done.clear()

    def landed(self, swap: Swap, before: Kept, after: Kept, now: int) -> None:
        """Look at a write that has changed a cell."""
        name, newest = swap.name, self._newest.get(swap.name, 0)
        if after.version <= newest:
            self._watch.fail(NAME, f"{name!r} got version {after.version} after {newest}")
        self._newest[name] = after.version
        if swap.swap_id in self._done:
            self._watch.fail(NAME, f"{swap.swap_id} was written to {name!r} twice")
        self._done.add(swap.swap_id)
        if after.value is None:
            return
        lives = before.ends_at is None or before.ends_at > now
        known = unpacked(before.value, "sim") if lives else None
        value = unpacked(after.value, "sim")
        if value != (known or 0) + 1:
            text = f"{swap.swap_id} wrote {value} to {name!r} in the place of {known}"
            self._watch.fail(NAME, text)
        self._made[name, after.version] = _Made(swap.swap_id, value)

    def confirmed(self, client: Client, name: str, ids: Sequence[str], told: Versioned) -> None:
        """Look at what a caller was told of its own update."""
        key = (name, told.version)
        made = self._made.get(key)
        if made is None or made.by not in ids or made.value != told.value or key in self._confirmed:
            text = f"{client.name} was told {told} of its update of {name!r}, which made {made}"
            self._watch.fail(NAME, text)
        self._confirmed.add(key)
        self._watch.family.done += 1

    def came_to_nothing(self, client: Client, ids: Sequence[str]) -> None:
        """Look at a caller who was told that its update was not made."""
        done = self._done.intersection(ids)
        if done:
            text = f"{client.name} was told that nothing was changed, but {sorted(done)} was done"
            self._watch.fail(NAME, text)
