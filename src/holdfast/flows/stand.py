"""Standing for election: hold the name, and lead; that it is so is put down while the body works.

Holding is ``acquire``. What comes on top is a duty: the tenure goes into the journal before the
name is given back, so that observers can be told of everybody who led. Nobody who waits for its
turn waits for that. Counterpart: ``lead``, who only looks.
"""

from __future__ import annotations

from holdfast.flows.acquire import acquire
from holdfast.flows.book import LeaseState
from holdfast.flows.duties import take_on
from holdfast.flows.journal import Inscription
from holdfast.flows.order import Order
from holdfast.flows.session import Session


async def stand(session: Session, order: Order, place: tuple[str, int]) -> LeaseState:
    """Lead ``order.name``, or raise ``LockBusy`` or ``BackendUnavailable``."""
    state = await acquire(session, order, place)
    take_on(session, Inscription(session, state))
    return state
