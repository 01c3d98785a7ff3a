"""What the callers of a simulated world do: take names, work, write, look, break, run errands.

A caller is a thread or task of a client. It uses the shipped flows as the public API does, and
tells whoever watches when it is let in, when it leaves and how each call ended.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import BackendUnavailable, Conflict, LockBusy, LockLost, Misuse
from holdfast.flows import acquire as acquiring
from holdfast.flows import extend as extending
from holdfast.flows import inspect as inspecting
from holdfast.flows import release as releasing
from holdfast.flows import wait_lost as watching
from holdfast.flows.book import Chore, LeaseState
from holdfast.flows.order import Order
from holdfast.flows.session import Session
from holdfast.rules.messages import Release
from holdfast.testing.sim.client import Client
from holdfast.testing.sim.errands.every import run_errand
from holdfast.testing.sim.plan import Hold, Inspect, Job
from holdfast.testing.sim.resource import Write
from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.world import World

STRUCK = (CancelledError, KeyboardInterrupt)

Story: TypeAlias = Callable[[Session, Order, tuple[str, int]], Awaitable[LeaseState]]
"""How to get in: to hold a name, or to lead by it."""

AGAIN = 0.3
"""How long an insisting caller pauses before it asks again."""


class Caller:
    """One thread or task, with a list of jobs."""

    def __init__(self, world: World, client: Client, number: int, jobs: tuple[Job, ...]) -> None:
        self.world = world
        self.client = client
        self.number = number
        self.jobs = jobs
        self.label = f"caller {number}"
        self.done = False
        self.asking_since: float | None = None
        self.asking_for: Order | None = None
        self.asking_times = 1  # how often over it may take: several names are one wait each
        self.place = (self.label, number)

    async def run(self) -> None:
        """Do all jobs; one that is struck down is followed by the next."""
        for job in self.jobs:
            try:
                await self.client.runtime.sleep(job.before)
                if isinstance(job, Hold):
                    await self._hold(job)
                elif isinstance(job, Inspect):
                    await self._inspect(job)
                else:
                    await run_errand(self, job)
            except STRUCK:
                self.world.note(self.client, "is struck", self.label)
            finally:
                self.asking_since = None

    async def _hold(self, job: Hold) -> None:
        """Get in, once; an insisting caller asks until it got in."""
        while True:
            healed = self.world.healed
            order = Order(job.name, job.want, job.wait, job.renew, job.max_hold)
            if job.insists and healed:
                order = order.with_wait(None)
            try:
                state = await self.acquire(order)
            except (LockBusy, BackendUnavailable, Misuse):
                if not job.insists or self.client.book.closing:
                    return
            else:
                await self._stay(job, state)
                return
            await self.pause()

    async def pause(self) -> None:
        """Wait a little before asking again."""
        await self.client.runtime.sleep(AGAIN * (0.5 + self.client.dice.random()))

    @contextmanager
    def asking(self, order: Order, times: int = 1) -> Iterator[None]:
        """Say what is asked for meanwhile, and how many waits it may take."""
        self.asking_since, self.asking_for = self.client.scheduler.time, order
        self.asking_times = times
        try:
            yield
        finally:
            self.asking_since = self.asking_for = None

    @contextmanager
    def gathering(self) -> Iterator[list[str]]:
        """Give the ids that this caller makes meanwhile; those left in the list end with it."""
        watch, task = self.world.watch, self.client.scheduler.current
        ids = watch.gathering[task] = []
        try:
            yield ids
        finally:
            watch.gathered(task)

    async def acquire(self, order: Order, story: Story = acquiring.acquire) -> LeaseState:
        """Get in, or raise what kept us."""
        with self.asking(order):
            try:
                return await story(self.client.session, order, self.place)
            except BaseException as error:
                self.world.watch.asked_in_vain(self.client, error)
                raise

    async def _stay(self, job: Hold, state: LeaseState) -> None:
        client, watch = self.client, self.world.watch
        if job.leaving == "drop":
            watch.dropped(client, state)
            return

        async def body(stay: Stay) -> None:
            if job.stops and client.plan.style == "aio":
                state.listeners.append(self._stop(stay))
            await self._body(job, stay)

        await self.stay(state, body, everything=job.leaving == "all")

    async def stay(
        self,
        state: LeaseState,
        body: Callable[[Stay], Awaitable[None]],
        *,
        everything: bool = False,
    ) -> None:
        """Let a body in under a lease, and give the lease back, or ``everything`` there is."""
        watch, session = self.world.watch, self.client.session
        state.face = lambda: state
        stay = watch.entered(self.client, state)
        try:
            with suppress(LockLost):  # the body stops, which is all that is asked of it
                await body(stay)
        finally:
            stay.leaving = True
            try:
                if everything:
                    await releasing.release_all(session)
                await releasing.release(session, state)
            finally:
                self.collect(state)
                watch.left(stay)

    def collect(self, state: LeaseState) -> None:
        """Let go of a lease whose release was interrupted, as the finaliser of ``Lease`` does."""
        book = self.client.book
        if not state.released and not self.client.dead:
            state.released = True
            if book.leases.pop(state.claim_id, None) is not None:
                book.owned.pop((state.name, state.owner), None)
                book.chores.append(Chore(Release(state.name, state.claim_id), state.deadline))
                self.client.keeper.wake()

    def _stop(self, stay: Stay) -> Callable[[], object]:
        """Make the callback that cancels the body when its lease is lost, as ``TaskStop`` does."""
        task = self.client.scheduler.current

        def fire() -> None:
            if task is not None and not stay.leaving:
                task.strike((task.turn, CancelledError()))

        return fire

    async def _body(self, job: Hold, stay: Stay) -> None:
        client, state = self.client, stay.state
        if job.watches:
            await watching.wait_lost(client.session, state, sum(job.steps))
            return
        for number, span in enumerate(job.steps):
            await client.runtime.sleep(span)
            if number == 0 and job.extend:
                with suppress(BackendUnavailable):  # then the lease is as good as it was
                    await extending.extend(client.session, state, job.extend)
            if not state.holds(client.now()):
                return
            if number == 0 and job.freeze:
                self.world.freeze(client, job.freeze)
            await client.runtime.sleep(job.gap)  # a pause in here is what no check can see
            self._write(stay)

    def _write(self, stay: Stay) -> None:
        state = stay.state
        exclusive = state.want.weight == state.want.capacity
        if not exclusive and not state.slots:
            return  # readers write nothing
        grant = self.world.watch.number_of(state)
        slot = state.slots[0] if state.slots else -1
        write = Write(state.name, slot, state.token, grant, self.client.name)
        scheduler = self.client.scheduler
        scheduler.at(scheduler.time + self.world.weather.fast, self.world.watch.wrote, write)

    async def _inspect(self, job: Inspect) -> None:
        session = self.client.session
        try:
            if job.what == "list":
                await inspecting.locks(session, "")
                return
            found = await inspecting.show(session, job.name)
            if job.what == "show" or not found.holders:
                return
            held = found.holders[0]
            force = job.what == "force"
            await inspecting.break_lock(session, job.name, held.token, "simulated", force=force)
        except (BackendUnavailable, Conflict, Misuse):
            return
