"""Every loss is told, once, and before the rival can enter.

Told is what the client's observers and callbacks hear from ``flows.lose``. A client that was paused
over its deadline, or that is dead, cannot be told in time; a grant broken by force ends without
asking; a keeper in the middle of a call does not know of leases that began since, and one that was
killed tells nothing until somebody who waits has started another. "Before the rival" is checked
where exclusion is promised, "once" in every world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.watch import Watch

NAME = "every loss is told"


class Loudness:
    """Looks who was told of what."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def entered(self, rival: Stay, inside: list[Stay]) -> None:
        """Look who should have heard that his lease is over, now that a rival is in."""
        if len(inside) == 1 or rival.excused or not self._watch.promises.exclusion:
            return
        untold = [stay for stay in inside if stay is not rival and self._is_untold(stay)]
        want = rival.state.want
        if sum(stay.state.want.weight for stay in untold) + want.weight > want.capacity:
            who = " and ".join(map(str, untold))
            text = f"{rival} is in {rival.state.name!r}, and {who} was not told of the loss"
            self._watch.fail(NAME, text)

    def _is_untold(self, stay: Stay) -> bool:
        client, state = stay.client, stay.state
        if stay.told or stay.excused or stay.inherited or state.released or client.halted:
            return False
        if not client.keeper.alive:
            return False
        # A keeper that hangs on a silent connection does not know of leases begun since: they are
        # told when that call has ended, by the limit that ``flows.keep`` sets it.
        if client.keeper_wire.asking_since < stay.entered_at:
            return False
        # Whoever was paused over the deadline is told as soon as it runs, and not before.
        runs_since = max(client.resumed_at, client.keeper.since) + client.latency
        return runs_since < client.clock.when(state.deadline, 0.0)

    def settle(self) -> None:
        """Look, at the end, whether each loss was told once."""
        watch = self._watch
        for stay in watch.past:
            if stay.inherited or stay.client.dead:
                continue
            expected = 1 if stay.state.loss else 0
            if stay.told != expected:
                lost = stay.state.loss or "not lost"
                watch.fail(NAME, f"{stay} was told {stay.told} times of its loss ({lost})")
