"""Giving a lock back, leaving the line, and the end of what nobody renews.

A wait is cancelled through the main session, so that no waiting process is left on the server; if
that cannot be confirmed its own session is closed, which the server notices within about a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from math import inf

from holdfast import clock
from holdfast.backends.advisory.hold import Hold
from holdfast.backends.advisory.ledger import Ledger, remaining
from holdfast.backends.advisory.replies import holders_of, rows_of
from holdfast.backends.advisory.session import Answer, Session
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Ended, Ending, Release, Withdraw
from holdfast.values import Tenure

AT_ONCE = 0.25
"""How long giving back what has lapsed may keep the keeper from its leases."""

ARRIVING = 0.1
"""After how long a session that does not stop waiting is told again."""

REMEMBERED_FOR = 60.0
"""How long a place that was left without an answer is kept in mind."""


class Leaving:
    """Ends the claims of one client."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._again_at = -inf

    def end(self, request: Release | Withdraw, deadline: float) -> Ended:
        """End a claim whatever became of it, and say how it ended."""
        ledger, claim_id = self._ledger, request.claim_id
        how: Ending = "released" if isinstance(request, Release) else "withdrawn"
        holders: tuple[Tenure, ...] = ()
        hold = ledger.claims.get(claim_id)
        try:
            if hold is not None:
                holders = self._end(hold, how, deadline)
        except BackendUnavailable:
            over = ledger.epitaph(claim_id)
            if over is None:
                raise
            return over  # it ended with its session
        if hold is None and isinstance(request, Release):
            return ledger.epitaph(claim_id) or Ended(claim_id, "unknown")
        ledger.bury(claim_id, how)  # an unknown one, too: it may still be under way
        over = ledger.epitaph(claim_id) or Ended(claim_id, how)
        return over._replace(holders=holders)

    def release_together(self, requests: Sequence[Release], deadline: float) -> None:
        """Give back what these hold: one question per session, however many it is.

        Each has its answer when it is asked for by itself, and so has what was not confirmed here.
        """
        by_session: dict[Session, list[Hold]] = {}
        for request in requests:
            hold = self._ledger.claims.get(request.claim_id)
            if hold is not None and hold.state == "granted" and hold.session is not None:
                by_session.setdefault(hold.session, []).append(hold)
        for session, holds in by_session.items():
            with suppress(BackendUnavailable):
                self._unlock_all(holds, session, deadline)

    def _end(self, hold: Hold, how: Ending, deadline: float) -> tuple[Tenure, ...]:
        holders: tuple[Tenure, ...] = ()
        if hold.state == "asking" and hold.session is not None:
            with hold.session.turn(deadline):
                pass  # which reads the answer that was late
        if hold.state == "waiting" and hold.session is not None:
            holders = self._leave_line(hold, hold.session, deadline)
        elif hold.left is not None:
            holders = self._cancel(hold.left[0], hold, deadline)
        if hold.state == "granted" and hold.session is not None:
            self._unlock(hold, hold.session, how, deadline)
        return holders

    def _leave_line(self, hold: Hold, session: Session, deadline: float) -> tuple[Tenure, ...]:
        """Let the session stop waiting, and read its last answer: cancelled, or granted before."""
        hold.leaving = True
        try:
            while True:
                holders = self._cancel(session.pid, hold, deadline)
                try:
                    with session.turn(min(deadline, clock.now() + ARRIVING)):
                        return holders
                except BackendUnavailable:  # we may have been quicker than what it was told before
                    if session.is_over():
                        return holders
                    if clock.now() >= deadline:
                        raise
        except BackendUnavailable:
            hold.left = session.pid, clock.now()
            session.close()
            raise

    def _cancel(self, pid: int, hold: Hold, deadline: float) -> tuple[Tenure, ...]:
        statement = self._ledger.script.cancel(pid, hold.number)
        answer = self._ledger.ask_main(statement, deadline)
        return holders_of(rows_of(answer[2]))

    def _unlock(
        self, hold: Hold, session: Session, how: Ending, deadline: float, *, lapsed: bool = False
    ) -> None:
        ledger = self._ledger
        with session.turn(deadline):
            if hold.session is not session or (lapsed and hold.ends_at > clock.now()):
                return  # given back, or renewed, while we waited for our turn
            statement = ledger.script.unlock(hold, remaining(session, besides=(hold,)))
            settle = partial(self._unlocked, hold, session, how)
            ledger.ask(session, statement, deadline, settle)

    def _unlock_all(self, holds: list[Hold], session: Session, deadline: float) -> None:
        ledger = self._ledger
        with session.turn(deadline):
            held = [hold for hold in holds if hold.session is session]
            if not held:
                return  # given back while we waited for our turn
            idle = remaining(session, besides=frozenset(held))
            settle = partial(self._all_unlocked, held, session)
            ledger.ask(session, ledger.script.unlock_all(held, idle), deadline, settle)

    def _all_unlocked(self, held: list[Hold], session: Session, answer: Answer) -> None:
        if isinstance(answer, BackendUnavailable):
            return  # none of it was carried out
        for hold, freed in zip(held, answer[2], strict=True):
            self._unlocked(hold, session, "released", [*answer[:2], freed])

    def _unlocked(self, hold: Hold, session: Session, how: Ending, answer: Answer) -> None:
        if isinstance(answer, BackendUnavailable):
            return  # it was not carried out, and is said again
        hold.let_go()
        self._ledger.bury(hold.claim_id, how if answer[2] else "lapsed")
        if not session.holds:
            self._ledger.sessions.rest(session)

    def next_end(self) -> float:
        """Say when the first of those that nobody renews is over."""
        ends = min((hold.ends_at for hold in self._ledger.granted()), default=inf)
        return max(ends, self._again_at)

    def end_lapsed(self) -> None:
        """Give back what is over, though nobody has said so."""
        ledger, now = self._ledger, clock.now()
        if now < self._again_at:
            return
        for hold in ledger.granted():
            session = hold.session
            if hold.ends_at > now or session is None:
                continue
            how: Ending = "broken" if hold.broken else "lapsed"
            try:
                self._unlock(hold, session, how, clock.now() + AT_ONCE, lapsed=True)
            except BackendUnavailable:
                self._again_at = clock.now() + AT_ONCE
                if all(one.ends_at <= now for one in tuple(session.holds.values())):
                    session.close()  # nothing here is worth waiting for; its end frees them all
        for hold in tuple(ledger.claims.values()):
            if hold.left is not None and hold.left[1] < now - REMEMBERED_FOR:
                ledger.bury(hold.claim_id, "withdrawn")
