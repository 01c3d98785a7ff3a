"""Following who leads: the story of ``flows.lead.next_change``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.flows import lead
from holdfast.testing.sim.errands.wishes import Observe

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def observe(caller: Caller, wish: Observe) -> None:
    """Watch for a while, riding over outages."""
    client = caller.client
    watching = lead.Watching(wish.name)
    until = client.now() + wish.lasts
    while client.now() < until and not client.book.closing:
        try:
            change = await lead.next_change(client.session, watching, until - client.now())
        except (BackendUnavailable, Misuse):
            await caller.pause()
            continue
        if change is not None:
            caller.world.watch.family.leaders.told(client, watching, change)
