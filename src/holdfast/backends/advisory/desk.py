"""Where a client's requests are answered: everything blocks, on whichever thread asks.

Locks that are free are taken on the client's main session, all of them on that one; each wait has a
session of its own, and a lock that was waited for stays where it was granted. A claim that was
granted and is neither renewed nor given back is given back by ``look_after``, so nothing is left of
a claim whose owner has forgotten it.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.advisory import faults
from holdfast.backends.advisory.ending import Leaving
from holdfast.backends.advisory.ledger import Ledger
from holdfast.backends.advisory.looking import Looking
from holdfast.backends.advisory.renewing import Renewing
from holdfast.backends.advisory.session import Session
from holdfast.backends.advisory.taking import Taking
from holdfast.backends.advisory.target import Terms
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Advance,
    Break,
    Claim,
    Ended,
    Granted,
    Item,
    ListNames,
    Look,
    Release,
    Renew,
    Reply,
    Request,
    Withdraw,
)


class Desk:
    """Answers for one client."""

    def __init__(self, terms: Terms, prefix: str, client: str, application: str) -> None:
        self.ledger = Ledger(terms, prefix, client, application)
        self._taking = Taking(self.ledger)
        self._leaving = Leaving(self.ledger)
        self._renewing = Renewing(self.ledger, self._taking)
        self._looking = Looking(self.ledger, self._leaving)
        self.watched = False  # by a keeper
        self.deserted = False  # nobody asks any more, only the keeper finishes its chores

    def answer(self, request: Request, deadline: float) -> Reply:
        """Carry out one request, or raise ``BackendUnavailable`` or ``Unsupported``."""
        match request:
            case Claim():
                return self._claim(request, deadline)
            case Release() | Withdraw():
                return self._end(request, deadline)
            case Renew() | Advance():
                return self._renew(request, deadline)
            case Look() | ListNames() | Break():
                return self._looking.answer(request, deadline)
            case _:
                raise faults.unsupported(type(request).__name__)

    def carry_out(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many; all renewals together, and all that is given back."""
        releases = [request for request in requests if isinstance(request, Release)]
        if len(releases) > 1:
            self._leaving.release_together(releases, deadline)
        renewals = [request for request in requests if isinstance(request, Renew)]
        renewed = iter(self._renewing.renew(renewals, deadline) if renewals else ())
        answers: list[Reply | BackendUnavailable] = []
        for request in requests:
            try:
                if isinstance(request, Renew):
                    answers.append(next(renewed))
                else:
                    answers.append(self.answer(request, deadline))
            except BackendUnavailable as error:
                answers.append(error)
        return answers

    def sessions(self) -> list[Session]:
        """Give the sessions that somebody should watch."""
        return self.ledger.sessions.all()

    def next_end(self) -> float:
        """Say when there is something to look after."""
        return self._leaving.next_end()

    def look_after(self) -> None:
        """Give back what has lapsed, and let those move up who wait without a session."""
        self._leaving.end_lapsed()
        if self.ledger.line:
            self._taking.move_up()

    def desert(self) -> None:
        """Close as soon as the keeper has done its chores, if there is one; for finalisers."""
        self.deserted = True
        if not self.watched:
            self.close()

    def close(self) -> None:
        """End every session, and with them everything that is held."""
        self.ledger.sessions.close()

    def _claim(self, request: Claim, deadline: float) -> Reply:
        outcome = self._taking.claim(request, deadline)
        if isinstance(outcome, Granted) and not outcome.remaining:
            hold = self.ledger.claims.get(request.claim_id)
            if hold is not None:
                return self._renewing.renew_one(hold, deadline)
        return outcome

    def _renew(self, request: Renew | Advance, deadline: float) -> Reply:
        if isinstance(request, Renew):
            (answer,) = self._renewing.renew((request,), deadline)
        else:  # PostgreSQL moves its queue by itself
            moved = Renew(request.name, (Item(request.claim_id, 0, 0.0),))
            (answer,) = self._renewing.renew((moved,), deadline)
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer if isinstance(request, Renew) else answer.answers[0]

    def _end(self, request: Release | Withdraw, deadline: float) -> Ended:
        try:
            return self._leaving.end(request, deadline)
        except BackendUnavailable:
            if not self.ledger.sessions.closed:
                raise
            return Ended(request.claim_id, "gone")  # with all our sessions
