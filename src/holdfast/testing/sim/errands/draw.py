"""Taking permits of a shared rate: the story of ``flows.limit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, Misuse, RateLimited
from holdfast.flows import limit as limiting
from holdfast.testing.sim.errands.wishes import Draw

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def draw(caller: Caller, wish: Draw) -> None:
    """Take so many times, and use what was given."""
    client = caller.client
    for _ in range(wish.times):
        with caller.gathering() as ids:
            try:
                allowed = await _take(caller, wish)
            except (RateLimited, BackendUnavailable):
                allowed = False
            except Misuse:  # the client was closed
                return
            if allowed:
                caller.world.watch.family.quotas.used(client, wish.name, ids)
        await client.runtime.sleep(wish.every)


async def _take(caller: Caller, wish: Draw) -> bool:
    session = caller.client.session
    limit = limiting.Limit(wish.name, wish.terms, adopt=False)
    if wish.wait == 0:
        return bool(await limiting.try_take(session, limit, wish.permits))
    return bool(await limiting.take(session, limit, wish.permits, wish.wait))
