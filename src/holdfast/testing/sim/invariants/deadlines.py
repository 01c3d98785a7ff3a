"""Nobody believes for longer than the server has granted, and nobody who has stopped begins again.

This is the argument on which exclusion rests, looked at directly: every deadline, in true time, is
before the end of its grant. So a deadline that is counted wrongly shows even where no rival came
by. A grant that is not there is left to ``exclusion``: a server may have forgotten it. "Longer" is
checked where exclusion is promised, "again" in every world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Renewed, Reply
from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

LONGER = "no deadline is beyond its grant"
AGAIN = "nothing revives"

ROUNDING = 1e-6


class Deadlines:
    """Looks when a lease begins, and right after the event in which a client heard of renewals."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def entered(self, stay: Stay) -> None:
        """Look at a lease that was just begun."""
        self._look_at(stay)

    def answers(self, client: Client, answers: Sequence[Reply | BackendUnavailable]) -> None:
        """Note what a client was answered, and whose lease was over before it makes use of that."""
        if any(type(answer) is Renewed for answer in answers):
            inside = [stay for stays in self._watch.stays.values() for stay in stays]
            mine = [(stay, stay.believes()) for stay in inside if stay.client is client]
            if mine:
                client.scheduler.soon(self._look, mine)

    def _look(self, mine: list[tuple[Stay, bool]]) -> None:
        for stay, believed in mine:
            if not believed and stay.believes():
                text = f"the lease of {stay} on {stay.state.name!r} was over, and is good again"
                self._watch.fail(AGAIN, text)
            self._look_at(stay)

    def _look_at(self, stay: Stay) -> None:
        watch, client, state = self._watch, stay.client, stay.state
        if not watch.promises.exclusion or not stay.believes():
            return
        server = client.server
        record = server.records.get(state.name)
        for grant in record.grants if record is not None else ():
            if grant.claim_id == state.claim_id:
                left = (grant.ends_at - server.now()) / watch.world.plan.host.rate
                ends_at = server.scheduler.time + left
                stops_at = client.clock.when(state.deadline, 0.0)
                if stops_at > ends_at + ROUNDING:
                    text = (
                        f"{stay} believes in {state.name!r} until {stops_at:.6f} s, and it is"
                        f" granted until {ends_at:.6f} s"
                    )
                    watch.fail(LONGER, text)
