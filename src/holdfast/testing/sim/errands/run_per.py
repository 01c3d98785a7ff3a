"""One completed run per slot: glance, take the claim, open, work, close, as ``Singleton`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, LockBusy, LockLost, Misuse
from holdfast.flows import singleton
from holdfast.flows.order import Order
from holdfast.rules.messages import Want
from holdfast.rules.record_messages import Entry
from holdfast.testing.sim.errands.footing import Footing
from holdfast.testing.sim.errands.wishes import RunPer
from holdfast.testing.sim.stay import Stay
from holdfast.values import apart

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def run_per(caller: Caller, wish: RunPer) -> None:
    """Ask so many times, as a scheduler does."""
    client, slots = caller.client, caller.world.watch.family.slots
    since = client.scheduler.time
    for _ in range(wish.asks):
        try:
            await _ask(caller, wish)
        except (LockBusy, LockLost, BackendUnavailable, Misuse):
            if client.book.closing:
                return
        await client.runtime.sleep(wish.every)
    slots.kept_asking(wish, since, client.scheduler.time)


async def _ask(caller: Caller, wish: RunPer) -> None:
    client, slots = caller.client, singleton.Slots(wish.name, round(wish.per * 1e6))
    watch = caller.world.watch.family.slots
    asked_at = client.scheduler.time
    seen = await singleton.glance(client.session, slots)
    if seen is None:
        watch.told_done(client, slots, asked_at)
        return
    entry: Entry = seen
    order = Order(apart("singleton", wish.name), Want("lock", 1, 1, wish.ttl), wish.wait)
    state = await caller.acquire(order)

    async def body(stay: Stay) -> None:
        lease = Footing(client.session, stay.state)
        began_at = client.scheduler.time
        opened = await singleton.open_slot(client.session, slots, entry, lease)
        if opened is None:
            watch.told_done(client, slots, began_at)
            return
        watch.begins(client, slots, stay.state)
        await client.runtime.sleep(wish.takes)
        await singleton.close_slot(client.session, slots, opened, lease)
        watch.completed(client, slots, opened.slot, began_at)

    await caller.stay(state, body)
