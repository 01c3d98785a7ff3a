"""Taking a lock: one try on the main session, then a place in PostgreSQL's own queue.

A wait has a session of its own, since a session that waits can do nothing else. What it is granted
counts only after it has been confirmed: the server may have granted it long before we hear of it,
so the notice says that it lives for no time at all, and whoever gets it asks.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from holdfast import clock
from holdfast.backends.advisory.hold import Hold
from holdfast.backends.advisory.ledger import Ledger, remaining
from holdfast.backends.advisory.replies import holders_of, refusal, rows_of
from holdfast.backends.advisory.session import Answer, Session
from holdfast.errors import BackendUnavailable
from holdfast.rules.lease import PATIENCE
from holdfast.rules.messages import Busy, Claim, Ended, Granted, Notice, Refused, Waiting

Outcome = Granted | Waiting | Busy | Refused | Ended

MISSED = Notice("missed", "", "", "", 0)
"""Says that a place in line is lost: whoever waits asks at once."""

MOVING_UP = 1.0
"""How long the one who watches may take to put the next of our own line in PostgreSQL's, and how
long it leaves them alone if that fails."""


class Taking:
    """Gets hold of names for one client."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._said_short = False
        self._again_at = -inf  # when a session to wait on may be asked for again
        self._mutex = threading.Lock()
        self._waiting: set[str] = set()  # the claims that have a session to wait on, or get one

    def claim(self, claim: Claim, deadline: float) -> Outcome:
        """Take a name, or join its queue; asked again, the same claim gets what it has."""
        ledger = self._ledger
        over = ledger.epitaph(claim.claim_id)
        if over is not None:
            return over
        hold = ledger.claims.get(claim.claim_id)
        if hold is None:
            hold = ledger.claims[claim.claim_id] = Hold(claim, ledger.number(claim.name))
        try:
            return self.go_on(hold, deadline)
        except BackendUnavailable as error:
            if error.outcome == "none" and hold.state == "idle":
                ledger.claims.pop(claim.claim_id, None)  # nobody will withdraw it
            raise

    def go_on(self, hold: Hold, deadline: float) -> Outcome:
        """Take up a claim where it is; one that is granted already has to be renewed instead."""
        if hold.state == "asking" and hold.session is not None:
            with hold.session.turn(deadline):
                pass  # which reads the answer that was late
        if hold.state == "granted":
            # Asked at some earlier time: only a renewal can say for how long it is good.
            return Granted(hold.claim_id, hold.token, 0.0, hold.granted_at)
        if hold.state == "waiting":
            return Waiting(None, hold.holders)
        return self._try(hold, deadline)

    def _try(self, hold: Hold, deadline: float) -> Outcome:
        ledger, claim = self._ledger, hold.claim
        answer = self._asked(hold, deadline)
        over = ledger.epitaph(hold.claim_id)
        if over is not None:
            return over  # withdrawn meanwhile
        refused = refusal(answer, claim.name, claim.want.kind)
        if refused is not None:
            ledger.claims.pop(hold.claim_id, None)
            return refused
        if hold.state == "granted":
            ledger.line.pop(hold.claim_id, None)
            return Granted(hold.claim_id, hold.token, claim.want.ttl, hold.granted_at)
        rows = rows_of(answer[2])
        hold.holders = holders_of(rows)
        if claim.patience > 0:
            return self._stand_in_line(hold, deadline)
        ledger.claims.pop(hold.claim_id, None)
        return Busy(hold.holders, sum(not row.granted for row in rows))

    def _asked(self, hold: Hold, deadline: float) -> list[Any]:
        """Try once, unless we have it ourselves, in which case PostgreSQL would not say no."""
        ledger = self._ledger
        session = ledger.sessions.main(deadline)
        with session.turn(deadline):
            mine = [one for one in session.holds.values() if one.number == hold.number]
            again = bool(mine) and hold.shared and all(one.shared for one in mine)
            if (mine and not again) or self._is_behind(hold):
                return ledger.ask(session, ledger.script.look(hold.number), deadline)
            hold.state, hold.session, hold.asked_at = "asking", session, clock.now()
            idle = max(remaining(session), hold.claim.want.ttl)
            statement = ledger.script.claim(hold, idle, again=again)
            return ledger.ask(session, statement, deadline, partial(self._tried, hold, session))

    def _tried(self, hold: Hold, session: Session, answer: Answer) -> None:
        if isinstance(answer, list) and answer[1] == "granted":
            hold.got(session, int(answer[2]), answer[3])
            hold.ends_at = hold.asked_at + hold.claim.want.ttl
            self._give_back_if_unwanted(hold)
        else:
            hold.let_go()

    def _give_back_if_unwanted(self, hold: Hold) -> None:
        """Let a grant that comes after its claim was withdrawn lapse at once."""
        if self._ledger.epitaph(hold.claim_id) is not None:
            hold.ends_at = -inf
            self._ledger.wake()

    def _is_behind(self, hold: Hold) -> bool:
        """Whether another of ours waits for the same name without a session, and was here first."""
        for other in tuple(self._ledger.line.values()):
            if other is hold:
                return False
            if other.number == hold.number and other.state == "idle":
                return True
        return False

    def _stand_in_line(self, hold: Hold, deadline: float) -> Outcome:
        ledger = self._ledger
        if self._may_wait(hold):
            try:
                refused = self._wait(hold, _in_time(deadline))
            except BaseException as error:
                self._waiting.discard(hold.claim_id)
                if not isinstance(error, BackendUnavailable):
                    raise
                self._say_short(error)
                self._again_at = clock.now() + MOVING_UP
                ledger.line[hold.claim_id] = hold
            else:
                ledger.line.pop(hold.claim_id, None)
                over = ledger.epitaph(hold.claim_id)
                if over is not None:  # withdrawn by another thread, which did not see it waiting
                    if hold.session is not None:
                        hold.session.close()
                    return over
                ledger.wake()  # whoever watches has one more to watch
                return refused or Waiting(None, hold.holders)
        return Waiting(None, hold.holders)

    def _may_wait(self, hold: Hold) -> bool:
        """Have one of the sessions that may wait, if there is one and nobody was here first.

        Otherwise it is in our own line, and whoever watches lets it move up.
        """
        with self._mutex:
            free = len(self._waiting) < self._ledger.terms.waits
            if free and not self._is_behind(hold):
                self._waiting.add(hold.claim_id)
                return True
            self._ledger.line[hold.claim_id] = hold
            return False

    def _wait(self, hold: Hold, deadline: float) -> Refused | None:
        ledger, claim = self._ledger, hold.claim
        session = ledger.sessions.side(deadline)
        try:
            with session.turn(deadline):
                statement = ledger.script.register(hold, first_life(claim.want.ttl))
                answer = ledger.ask(session, statement, deadline)
                refused = refusal(answer, claim.name, claim.want.kind)
                if refused is None:
                    hold.state, hold.session = "waiting", session
                    session.begin(ledger.script.wait(hold), partial(self._waited, hold, session))
        except BaseException:
            hold.let_go()
            session.close()
            raise
        if refused is not None:
            self._waiting.discard(hold.claim_id)
            ledger.claims.pop(hold.claim_id, None)
            ledger.sessions.rest(session)
            return refused
        # Its place counts once it is taken. If that cannot be seen in time, it most likely is.
        with suppress(BackendUnavailable):
            ledger.ask_main(ledger.script.arrived(session.pid, hold.number), deadline)
        return None

    def _waited(self, hold: Hold, session: Session, answer: Answer) -> None:
        claim = hold.claim
        self._waiting.discard(hold.claim_id)
        if isinstance(answer, list) and answer[1] == "granted":
            hold.got(session, int(answer[2]), answer[3])
            hold.ends_at = clock.now() + first_life(claim.want.ttl)
            self._give_back_if_unwanted(hold)
            token, at = hold.token, hold.granted_at
            self._ledger.tell(
                Notice("granted", claim.inbox, claim.name, claim.claim_id, token, 0.0, at)
            )
        else:  # cancelled, or the session is gone; whoever still wants it asks again
            hold.let_go()
            session.close()  # cancelled just after it was granted, it would hold the lock unseen
            if not hold.leaving:
                self._ledger.tell(MISSED)

    def move_up(self) -> None:
        """Let those who wait without a session have one, as far as there are some."""
        for hold in tuple(self._ledger.line.values()):
            if len(self._waiting) >= self._ledger.terms.waits or clock.now() < self._again_at:
                return
            if hold.state == "idle" and hold.claim_id not in self._waiting:
                self._stand_in_line(hold, clock.now() + MOVING_UP)

    def _say_short(self, error: BackendUnavailable) -> None:
        if self._said_short:
            return
        self._said_short = True
        from holdfast.observe.logs import logger

        logger.warning(
            "there is no session to wait on, so the lock is tried for once a second: %s", error
        )


def _in_time(deadline: float) -> float:
    """Leave some of the time, so that who gets no session to wait on hears at least that."""
    return deadline - (deadline - clock.now()) / 4


def first_life(ttl: float) -> float:
    """How long a grant lives that its owner has not yet confirmed."""
    return min(PATIENCE, ttl)
