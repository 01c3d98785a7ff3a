"""The keeper: one daemon thread per client that renews its leases and hears of loss.

A thread in *both* runtimes, with a wire and an inbox of its own, so that a blocked event loop does
not lose the lock. What it does is ``flows.rounds`` and ``flows.keep``; here is only who goes the
rounds. It refers to private state alone, so that clients and leases can be collected while it runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from holdfast.flows.book import Book
from holdfast.flows.keep import Patience
from holdfast.flows.rounds import go_round, hear, overhear
from holdfast.flows.session import Session
from holdfast.observe.hub import complain
from holdfast.ports import Backend, Bell, Ear, LendsBells
from holdfast.rules.messages import Notice
from holdfast.runtimes.farewell import enlist
from holdfast.runtimes.step import run
from holdfast.runtimes.sync import ThreadBell
from holdfast.values import Holder

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
        self._lends: LendsBells | None = None
        self._goodbyes: list[Bell] = []

    def inbox(self) -> str:
        """Give the client's address, opening its inbox on first use."""
        ear = self._ear
        return self._open().address if ear is None else ear.address

    def _open(self) -> Ear:
        if self._ear is None:
            with self._lock:
                if self._ear is None:
                    ear = self._backend.ear(self._holder, self._deliver)
                    self._lends = ear if isinstance(ear, LendsBells) else None
                    self._ear = ear
        return self._ear

    def bell(self) -> Bell:
        """Make a bell for a thread that waits in line; it may listen to the inbox meanwhile."""
        lends = self._lends
        return ThreadBell() if lends is None else lends.bell()

    def wake(self) -> None:
        """Make the keeper look at the book soon."""
        if self._book.closed:  # there is nothing to look after any more
            return
        ear = self._open()
        self.mind()
        ear.wake()

    def mind(self) -> None:
        """Start the thread, or start it again if it died."""
        thread = self._thread
        if self._book.closed or (thread is not None and thread.is_alive()):
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            name = f"holdfast-keeper-{self._holder.client[:8]}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            enlist(self)
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
        overhear(self._session, notice)

    def _run(self) -> None:
        patience = Patience()
        ear = self._open()
        # An interrupted start may have been followed by another: then the later one is the keeper.
        while self._thread is threading.current_thread():
            try:
                until = run(go_round(self._session, patience))
                if until is None:
                    break
                notices = ear.listen(until)
                hear(self._session, notices)
                if notices:
                    time.sleep(0)  # those who were told go first
            except BaseException:  # noqa: BLE001 - also an observer's sys.exit(): leases need a keeper
                complain("the keeper of %s stumbled and goes on", self._holder)
                time.sleep(BREATHER)
        if self._thread is not threading.current_thread():
            return
        ear.close()
        self._session.wire.close()
        for goodbye in self._goodbyes:
            goodbye.ring()
