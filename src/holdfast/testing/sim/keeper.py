"""A simulated client's keeper: a task that goes the shipped rounds, where the product has a thread.

What it does is ``flows.rounds``; here is only its inbox, its sleep and its waking, as
``runtimes.keeper`` has them with threads and sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows import rounds
from holdfast.flows.keep import Patience
from holdfast.flows.session import Session
from holdfast.ports import Bell
from holdfast.rules.messages import Notice
from holdfast.testing.sim.inbox import SimInbox
from holdfast.testing.sim.scheduler import Killed, Task, park

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client


class SimKeeper:
    """Keeps one client's leases and places; starts when there is something to keep."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._task: Task | None = None
        self._inbox: SimInbox | None = None
        self._heard: list[Notice] = []
        self._woken = False
        self._listening = False
        self._goodbye: Bell | None = None
        self.since = 0.0  # when it was started last

    @property
    def session(self) -> Session:
        """The keeper's own session."""
        return self._client.keeper_session

    def inbox(self) -> str:
        """Give the client's address, opening its inbox on first use."""
        address = self._client.holder.client
        if self._inbox is None:
            self._inbox = SimInbox(self._client, self._client.keeper_network)
            self._client.server.inboxes[address] = self._inbox
        return address

    @property
    def ear(self) -> SimInbox | None:
        """The inbox, if it was ever opened."""
        return self._inbox

    def wake(self) -> None:
        """Make the keeper look at the book soon."""
        self.inbox()
        self.mind()
        self._woken = True
        self._stir()

    def mind(self) -> None:
        """Start the keeper, or start it again if it died."""
        if (self._task is None or self._task.done) and not self._client.dead:
            self.since = self._client.scheduler.time
            self._task = Task(self._client, self._run(), "keeper", self._ended)

    def put(self, notice: Notice) -> None:
        """Leave a notice for when the keeper listens next."""
        self._heard.append(notice)
        self._stir()

    def overhear(self, notice: Notice) -> None:
        """Take a notice in at once, as a loop or another thread does."""
        rounds.overhear(self.session, notice)
        self._client.world.watch.heed.notices(self._client, (notice,))

    def stop(self, goodbye: Bell) -> bool:
        """Ring ``goodbye`` when all is given back; ``False`` if there is nobody to do it."""
        self._goodbye = goodbye
        if self._task is None or self._task.done:
            self._client.book.closed = True
            return False
        self._woken = True
        self._stir()
        return True

    @property
    def alive(self) -> bool:
        """Whether it runs, or will when it is needed."""
        return self._task is None or not self._task.done

    def die(self) -> None:
        """End the keeper alone, as a thread that somebody kills: waiters start another."""
        if self._task is not None and self.alive and not self._client.halted:
            self._task.strike((self._task.turn, Killed()))

    def _stir(self) -> None:
        if self._listening and self._task is not None:
            self._client.wake_up(self._task, self._task.turn)

    async def _run(self) -> None:
        patience = Patience()
        while (until := await rounds.go_round(self.session, patience)) is not None:
            notices = await self._listen(until)
            rounds.hear(self.session, notices)
            self._client.world.watch.heed.notices(self._client, notices)
        if self._inbox is not None:
            self._inbox.close()
        if self._goodbye is not None:
            self._goodbye.ring()

    async def _listen(self, until: float) -> list[Notice]:
        if self._client.dead:
            raise Killed
        if not self._woken and not self._heard and self._task is not None:
            self._client.time_out(self._task, until)
            self._listening = True
            try:
                await park()
            finally:
                self._listening = False
        self._woken = False
        heard, self._heard = self._heard, []
        return heard

    def _ended(self, task: Task) -> None:
        if task.error is not None and not isinstance(task.error, Killed):
            self._client.world.watch.stumbled(self._client, "its keeper", task.error)
