"""Changing a cell: the story of ``flows.swap.update`` and ``delete``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable, Conflict, Misuse
from holdfast.flows import swap
from holdfast.testing.sim.errands.wishes import Add

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def add(caller: Caller, wish: Add) -> None:
    """Add one so many times; what comes to nothing is left."""
    for _ in range(wish.times):
        with caller.gathering() as ids:
            await _once(caller, wish, ids)


async def _once(caller: Caller, wish: Add, ids: list[str]) -> None:
    client, cells = caller.client, caller.world.watch.family.cells
    write = swap.Write(wish.name, None, None)

    async def one_more(value: int | None) -> int:
        if wish.takes:
            await client.runtime.sleep(wish.takes)
        return (value or 0) + 1

    try:
        if wish.deletes:
            await swap.delete(client.session, write, None, wish.wait)
            return
        told = await swap.update(client.session, write, one_more, wish.wait)
    except Conflict:
        cells.came_to_nothing(client, ids)
    except Misuse:  # the client was closed
        return
    except BackendUnavailable as error:
        if error.outcome == "none":
            cells.came_to_nothing(client, ids)
    else:
        cells.confirmed(client, wish.name, ids, told)
