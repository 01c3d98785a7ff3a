"""Every errand by what is wished for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.errands.add import add
from holdfast.testing.sim.errands.do_once import do_once
from holdfast.testing.sim.errands.draw import draw
from holdfast.testing.sim.errands.hold_all import hold_all
from holdfast.testing.sim.errands.observe import observe
from holdfast.testing.sim.errands.preside import preside
from holdfast.testing.sim.errands.run_per import run_per
from holdfast.testing.sim.errands.wishes import Add, DoOnce, Draw, HoldAll, Preside, RunPer, Wish

if TYPE_CHECKING:
    from holdfast.testing.sim.caller import Caller


async def run_errand(caller: Caller, wish: Wish) -> None:
    """Do what is wished for."""
    if isinstance(wish, Add):
        await add(caller, wish)
    elif isinstance(wish, DoOnce):
        await do_once(caller, wish)
    elif isinstance(wish, RunPer):
        await run_per(caller, wish)
    elif isinstance(wish, Draw):
        await draw(caller, wish)
    elif isinstance(wish, HoldAll):
        await hold_all(caller, wish)
    elif isinstance(wish, Preside):
        await preside(caller, wish)
    else:
        await observe(caller, wish)
