"""At most one completed run per slot, and nobody is told "done" of a slot that nobody completed.

And nobody begins a run under a lease that is over, or closes a slot in which a successor has begun.
Checked in every world in which the server's wall clock is not set back, which lets a slot come
twice, and as long as it keeps its memory: what it has forgotten is run again. Where nothing goes
wrong at all no slot is left out while somebody keeps asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.book import LeaseState
from holdfast.flows.singleton import Slots
from holdfast.rules.record_messages import Swap
from holdfast.rules.slot import Slot, slot_at
from holdfast.testing.sim.errands.wishes import RunPer
from holdfast.testing.sim.invariants.keeping import is_peaceful

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "one run per slot"

OFTEN = 4.0
"""So many questions and runs fit into a slot of whoever asks often enough not to leave one out."""

EXCHANGES = 5
"""A look, a claim, open, close, release: what a turn costs over the network."""


class SlotRuns:
    """Remembers which slots are closed."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._closed: dict[str, set[Slot]] = {}
        self._begun: dict[str, int] = {}  # the largest token under which a run was begun
        self._asked: list[tuple[RunPer, float, float]] = []

    def forget(self) -> None:
        """Note that every slot is open, and that nobody is known to have begun."""
        self._closed.clear()
        self._begun.clear()

    def landed(self, swap: Swap) -> None:
        """Look at a write that has opened or closed a slot."""
        begun = self._begun.get(swap.name, 0)
        if swap.value is None:
            self._begun[swap.name] = max(begun, swap.fence)
            return
        if swap.fence < begun:
            text = f"{swap.swap_id} closed {swap.name!r} with {swap.fence}; {begun} had begun since"
            self._watch.fail(NAME, text)
        _, *moments = swap.value.split()
        slot = Slot(*map(int, moments))
        closed = self._closed.setdefault(swap.name, set())
        if slot in closed:
            self._watch.fail(NAME, f"{swap.name!r} was completed twice in {slot}")
        closed.add(slot)

    def begins(self, client: Client, slots: Slots, state: LeaseState) -> None:
        """Look at a caller that was told to begin its run."""
        if not state.holds(client.now()):
            text = f"{client.name} runs {slots.name!r} under a lease that is over"
            self._watch.fail(NAME, text)

    def completed(self, client: Client, slots: Slots, slot: Slot, since: float) -> None:
        """Look at a run whose caller was told, since it began, that it is complete."""
        known = self._watch.family.is_certain(since)
        if known and slot not in self._closed.get(slots.name, ()):
            text = (
                f"{client.name} was told that {slots.name!r} is complete in {slot}, and it is not"
            )
            self._watch.fail(NAME, text)
        self._watch.family.done += 1

    def told_done(self, client: Client, slots: Slots, asked_at: float) -> None:
        """Look at a caller who was told, since it asked, that nothing is to be done."""
        since, now = self._shown(asked_at), self._shown(client.scheduler.time)
        closed = self._closed.get(slots.name, ())
        if not self._watch.family.is_certain(asked_at):
            return
        if not any(slot.starts_at <= now and slot.ends_at > since for slot in closed):
            text = f"{client.name} was told that {slots.name!r} is done, and nobody has done it"
            self._watch.fail(NAME, text)

    def kept_asking(self, wish: RunPer, since: float, until: float) -> None:
        """Note that somebody asked, again and again, from one moment to another."""
        self._asked.append((wish, since, until))

    def settle(self) -> None:
        """Look for slots that were left out."""
        if not is_peaceful(self._watch.world.plan):
            return
        for wish, since, until in self._asked:
            turn = max(wish.every, wish.takes) + EXCHANGES * 2 * self._watch.world.plan.weather.fast
            if turn * OFTEN > wish.per:
                continue
            period = round(wish.per * 1e6)
            slot = slot_at(self._shown(since), period)
            while (slot := slot_at(slot.ends_at, period)).ends_at < self._shown(until):
                if slot not in self._closed.get(wish.name, ()):
                    self._watch.fail(NAME, f"nobody ran {wish.name!r} in {slot}")

    def _shown(self, time: float) -> int:
        """Say what the server's wall clock showed."""
        return int(self._watch.world.server.wall.at(time) * 1e6)
