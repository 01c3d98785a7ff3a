"""Doing something once per key: recall, take the claim, begin, work, store, as ``OnceRun`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, Conflict, LockBusy, LockLost, Misuse
from holdfast.flows import once
from holdfast.flows.book import LeaseState
from holdfast.flows.order import Order
from holdfast.rules.messages import Want
from holdfast.testing.sim.errands.footing import Footing
from holdfast.testing.sim.errands.wishes import DoOnce
from holdfast.testing.sim.stay import Stay
from holdfast.values import apart

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def do_once(caller: Caller, wish: DoOnce) -> None:
    """Ask until there is a result: done here, or by another."""
    client = caller.client
    plan = once.Plan(wish.name, once.NO_PAYLOAD, None)
    while not client.book.closing:
        asked_at = client.scheduler.time
        try:
            found = await _visit(caller, wish, plan)
        except (LockBusy, LockLost, BackendUnavailable, Misuse):
            found = None
        except Conflict:
            if caller.world.watch.family.is_certain(asked_at):
                raise
            found = None  # whoever had begun before, and was forgotten, has stored its own
        if found is not None:
            caller.world.watch.family.onces.given(client, wish.name, found.result, asked_at)
            return
        await caller.pause()


async def _visit(caller: Caller, wish: DoOnce, plan: once.Plan) -> once.Stored | None:
    found = await once.recall(caller.client.session, plan)
    if found is not None:
        return found
    order = Order(apart("once", wish.name), Want("lock", 1, 1, wish.ttl), wish.wait)
    state = await caller.acquire(order)
    results: list[once.Stored] = []

    async def body(stay: Stay) -> None:
        results.append(await _work(caller, wish, plan, stay.state))

    await caller.stay(state, body)
    return results[0] if results else None


async def _work(caller: Caller, wish: DoOnce, plan: once.Plan, state: LeaseState) -> once.Stored:
    client, onces = caller.client, caller.world.watch.family.onces
    lease, asked_at = Footing(client.session, state), client.scheduler.time
    found = await once.begin(client.session, plan, lease)
    if found is not None:
        return found
    run = onces.begins(client, wish.name, state, asked_at)
    try:
        await client.runtime.sleep(wish.takes)
        result = f"by {client.name} with {state.token}"
        await once.store(client.session, plan, lease, result)
    finally:
        run.over = True
    return once.Stored(result)
