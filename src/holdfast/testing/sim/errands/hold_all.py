"""Holding several names at once: the story of ``flows.many``, left as ``LeaseSet`` leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import many
from holdfast.flows.book import Company
from holdfast.flows.order import Order
from holdfast.flows.release import release_these
from holdfast.rules.messages import Want
from holdfast.testing.sim.errands.wishes import HoldAll

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def hold_all(caller: Caller, wish: HoldAll) -> None:
    """Ask until all are had, once."""
    client = caller.client
    while not client.book.closing:
        try:
            company = await _acquire(caller, wish)
        except (LockBusy, BackendUnavailable, Misuse):
            await caller.pause()
        else:
            await _stay(caller, wish, company)
            return


async def _acquire(caller: Caller, wish: HoldAll) -> Company:
    client, watch = caller.client, caller.world.watch
    wait = None if caller.world.healed else wish.wait
    want = Want("lock", 1, 1, wish.ttl)
    orders = [Order(name, want, wait) for name in wish.names]
    with caller.gathering() as ids, caller.asking(orders[0], len(orders) + 1):
        try:
            company = await many.acquire_all(
                client.session, orders, caller.place, at_once=wish.at_once
            )
        except BaseException as error:
            watch.asked_all_in_vain(client, ids, error)
            raise
        for state in company.states:
            state.face = lambda state=state: state  # as the set has it
            ids.remove(state.claim_id)  # it is minded for as long as its body is inside
    return company


async def _stay(caller: Caller, wish: HoldAll, company: Company) -> None:
    client, watch = caller.client, caller.world.watch
    stays = [watch.entered(client, state) for state in company.states]
    watch.family.together.entered(client, wish.names, company)
    try:
        for span in wish.steps:
            await client.runtime.sleep(span)
            if not company.holds(client.now()):
                return
    finally:
        for stay in stays:
            stay.leaving = True
        try:
            await release_these(client.session, company.states)
        finally:
            for stay in stays:
                caller.collect(stay.state)
                watch.left(stay)
