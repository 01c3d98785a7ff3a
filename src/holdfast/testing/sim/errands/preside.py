"""Leading for a while: the story of ``flows.stand``, left as ``Leadership`` leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import stand as standing
from holdfast.flows.book import LeaseState
from holdfast.flows.order import Order
from holdfast.rules.messages import Want
from holdfast.testing.sim.errands.wishes import Preside
from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def preside(caller: Caller, wish: Preside) -> None:
    """Stand until it led, once."""
    client = caller.client
    while not client.book.closing:
        try:
            state = await _stand(caller, wish)
        except (LockBusy, BackendUnavailable, Misuse):
            await caller.pause()
        else:
            await _lead(caller, wish, state)
            return


async def _stand(caller: Caller, wish: Preside) -> LeaseState:
    wait = None if caller.world.healed else wish.wait
    order = Order(wish.name, Want("lead", 1, 1, wish.ttl), wait)
    return await caller.acquire(order, standing.stand)


async def _lead(caller: Caller, wish: Preside, state: LeaseState) -> None:
    client, leaders = caller.client, caller.world.watch.family.leaders

    async def body(stay: Stay) -> None:
        leaders.began(client, stay.state)
        for span in wish.steps:
            await client.runtime.sleep(span)
            if not stay.state.holds(client.now()):
                return

    await caller.stay(state, body)
