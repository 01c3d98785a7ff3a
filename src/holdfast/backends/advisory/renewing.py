"""Keeping what is held: a sign of life on every session that holds something.

It is asked of the session itself, because a lock is as good as its session. The server ends a
session that was silent for as long as its leases may live; the holder, who counts from before it
asked, has stopped believing by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast import clock
from holdfast.backends.advisory.hold import Hold
from holdfast.backends.advisory.ledger import Ledger, remaining
from holdfast.backends.advisory.session import Session
from holdfast.backends.advisory.taking import Taking
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Ended, Granted, Item, Renew, Renewed, Waiting

Probed = dict[str, BackendUnavailable | None]
"""The claims whose session was asked, and what went wrong, if anything did."""


class Renewing:
    """Renews the leases and places of one client."""

    def __init__(self, ledger: Ledger, taking: Taking) -> None:
        self._ledger = ledger
        self._taking = taking

    def renew(
        self, requests: Sequence[Renew], deadline: float
    ) -> list[Renewed | BackendUnavailable]:
        """Renew a batch: one question per session, however many it holds."""
        outcome = self._probe_all([item for one in requests for item in one.items], deadline)
        return [self._answered(request, outcome, deadline) for request in requests]

    def renew_one(self, hold: Hold, deadline: float) -> Granted | Waiting | Ended:
        """Renew what one claim has, for as long as it asked for."""
        item = Item(hold.claim_id, hold.token, hold.claim.want.ttl)
        outcome = self._probe_all([item], deadline)
        failure = outcome.get(hold.claim_id)
        if failure is not None:
            raise failure
        return self._answer(item, outcome, deadline)

    def _probe_all(self, items: Sequence[Item], deadline: float) -> Probed:
        """Ask every session that is concerned."""
        by_session: dict[Session, list[tuple[Hold, Item]]] = {}
        for item in items:
            hold = self._ledger.claims.get(item.claim_id)
            if hold is not None and hold.state == "granted" and hold.session is not None:
                by_session.setdefault(hold.session, []).append((hold, item))
        outcome: Probed = {}
        for done, (session, concerned) in enumerate(by_session.items()):
            left = (deadline - clock.now()) / (len(by_session) - done)  # a silent one takes its own
            failure: BackendUnavailable | None = None
            try:
                self._probe(session, concerned, clock.now() + left)
            except BackendUnavailable as error:
                failure = error
            outcome |= {hold.claim_id: failure for hold, _ in concerned}
        return outcome

    def _probe(self, session: Session, concerned: list[tuple[Hold, Item]], deadline: float) -> None:
        ledger = self._ledger
        with session.turn(deadline):
            asked_at = clock.now()
            living = [(hold, item) for hold, item in concerned if hold.ends_at > asked_at]
            idle = max([remaining(session), *(item.ttl for _, item in living)])
            answer = ledger.ask(session, ledger.script.renew(idle), deadline)
            broken = {int(token): reason for token, reason in answer[2]}
            for hold in session.holds.values():
                hold.broken = broken.get(hold.token, hold.broken)
            for hold, item in living:
                if not hold.broken and item.token in (0, hold.token):
                    hold.ends_at = max(hold.ends_at, asked_at + item.ttl)
                    if item.ttl > hold.ttl:
                        hold.ttl = item.ttl
                        ledger.ask(session, ledger.script.extend(hold.token, item.ttl), deadline)

    def _answered(
        self, request: Renew, outcome: Probed, deadline: float
    ) -> Renewed | BackendUnavailable:
        answers: list[Granted | Waiting | Ended] = []
        for item in request.items:
            failure = outcome.get(item.claim_id)
            if failure is not None and self._ledger.epitaph(item.claim_id) is None:
                return failure
            try:
                answers.append(self._answer(item, outcome, deadline))
            except BackendUnavailable as error:
                return error
        return Renewed(tuple(answers))

    def _answer(self, item: Item, outcome: Probed, deadline: float) -> Granted | Waiting | Ended:
        claim_id = item.claim_id
        hold = self._ledger.claims.get(claim_id)
        if hold is None:
            return self._ledger.epitaph(claim_id) or Ended(claim_id, "unknown")
        if hold.state != "granted":  # in line, or its session is gone, or it has none yet
            found = self._taking.go_on(hold, deadline)
            if isinstance(found, Ended) or (isinstance(found, Granted) and found.remaining):
                return found
        if claim_id not in outcome:
            # Not granted when we asked. If it is by now, its notice says so, and it is confirmed.
            return Waiting(None, hold.holders)
        return self._lease(hold, item)

    def _lease(self, hold: Hold, item: Item) -> Granted | Ended:
        """Say for how long a lease is good that has just been asked about."""
        left = hold.ends_at - clock.now()
        if item.token not in (0, hold.token):
            return Ended(hold.claim_id, "unknown")
        if hold.broken:
            return Ended(hold.claim_id, "broken", hold.broken)
        if left <= 0:
            return Ended(hold.claim_id, "lapsed")
        return Granted(hold.claim_id, hold.token, left, hold.granted_at)
