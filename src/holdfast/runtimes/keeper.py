"""The keeper: one daemon thread per client that renews its leases and hears of loss.

A thread in *both* runtimes, with a wire and an inbox of its own, so that a blocked event loop does
not lose the lock. The story it tells is ``flows.keep``; here is only who turns the page. It refers
to private state alone, so that clients and leases can be collected while it runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf

from holdfast.flows.book import Book, Chore, LeaseState
from holdfast.flows.keep import Patience, turn
from holdfast.flows.session import Session
from holdfast.observe.hub import complain
from holdfast.ports import Backend, Bell, Ear
from holdfast.rules.lease import PATIENCE
from holdfast.rules.messages import Notice, Release, Withdraw
from holdfast.runtimes.step import run
from holdfast.values import Holder

ON_ITS_WAY = 1.0
"""How long a lease may be without its public face: it takes microseconds, unless we are paused."""

BREATHER = 0.1
"""How long the keeper pauses after a fault of its own, so that it cannot spin."""


class Keeper:
    """Keeps one client's leases and places; starts when there is something to keep."""

    def __init__(
        self,
        backend: Backend,
        holder: Holder,
        book: Book,
        session: Callable[[Keeper], Session],
    ) -> None:
        self._backend = backend
        self._holder = holder
        self._book = book
        self._session = session(self)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ear: Ear | None = None
        self._goodbyes: list[Bell] = []

    def inbox(self) -> str:
        """Give the client's address, opening its inbox on first use."""
        return self._open().address

    def _open(self) -> Ear:
        if self._ear is None:
            with self._lock:
                if self._ear is None:
                    self._ear = self._backend.ear(self._holder, self._deliver)
        return self._ear

    def wake(self) -> None:
        """Make the keeper look at the book soon."""
        ear = self._open()
        self.mind()
        ear.wake()

    def mind(self) -> None:
        """Start the thread, or start it again if it died."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            name = f"holdfast-keeper-{self._holder.client[:8]}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def lifeline(self) -> int | None:
        """Give the descriptor that tells others of this client's death, if the backend has one."""
        return self._open().lifeline()

    def nudge(self) -> None:
        """Wake the thread if there is one; takes no lock, so it is safe in a finaliser."""
        if self._ear is not None:
            self._ear.wake()

    def abandon(self) -> None:
        """End everything soon; safe in a finaliser, because it only leaves word."""
        self._book.closing = True
        if self._thread is not None and self._thread.is_alive():
            self.nudge()
        else:
            self._book.closed = True
            if self._ear is not None:
                self._ear.close()

    def stop(self, goodbye: Bell) -> bool:
        """Like ``abandon``, and ring ``goodbye`` when it is done; ``False`` if it is already."""
        self._goodbyes.append(goodbye)
        self.abandon()
        return self._thread is not None and self._thread.is_alive()

    def forget(self) -> None:
        """Let go of what a fork inherited, without a word to the backend."""
        if self._ear is not None:
            self._ear.forget()

    def _deliver(self, notice: Notice) -> None:
        self._book.deliver(notice)
        if notice.what != "granted":
            self.wake()  # the loss is told on the keeper's own thread

    def _run(self) -> None:
        patience = Patience()
        ear = self._open()
        # An interrupted start may have been followed by another: then the later one is the keeper.
        while self._thread is threading.current_thread() and not self._done():
            try:
                look_at = self._drop_orphans()
                until = min(look_at, run(turn(self._session, patience)))
                if self._book.closing and not self._book.chores:
                    continue
                notices = ear.listen(until)
                for notice in notices:
                    self._book.deliver(notice)
                if notices:
                    time.sleep(0)  # those who were told go first
            except Exception:  # noqa: BLE001 - whatever it is, the leases still need their keeper
                complain("the keeper of %s stumbled and goes on", self._holder)
                time.sleep(BREATHER)
        if self._thread is not threading.current_thread():
            return
        self._book.closed = True
        ear.close()
        self._session.wire.close()
        for goodbye in self._goodbyes:
            goodbye.ring()

    def _drop_orphans(self) -> float:
        """Give back leases that nobody has.

        An interruption came between the grant and the lease, or in the middle of the release. Say
        when to look again, if there is one that may still be on its way to its owner.
        """
        book, now = self._book, self._session.runtime.now()
        look_at = inf
        for state in tuple(book.leases.values()):
            if not state.released and (state.face is not None or _is_awaited(state)):
                continue
            if now < state.started_at + ON_ITS_WAY:
                look_at = min(look_at, state.started_at + ON_ITS_WAY)
            elif book.leases.pop(state.claim_id, None) is not None:
                state.loss = "it was never taken: the call that asked for it was interrupted"
                book.owned.pop((state.name, state.owner), None)
                book.chores.append(Chore(Release(state.name, state.claim_id), state.deadline))
        return look_at

    def _done(self) -> bool:
        """When the client is closed, turn what it still holds into chores, and end with them."""
        book = self._book
        if not book.closing:
            return False
        for claim_id in tuple(book.leases):
            state = book.leases.pop(claim_id, None)
            if state is not None:
                state.released = True
                book.chores.append(Chore(Release(state.name, claim_id), state.deadline))
        for claim_id in tuple(book.tickets):
            ticket = book.tickets.pop(claim_id, None)
            if ticket is not None:
                until = self._session.runtime.now() + PATIENCE
                book.chores.append(Chore(Withdraw(ticket.name, claim_id), until))
                if ticket.bell is not None:
                    ticket.bell.ring()
        return not book.chores


def _is_awaited(state: LeaseState) -> bool:
    """Whether it is kept for those that are yet to be acquired with it."""
    return state.company is not None and state.company() is not None
