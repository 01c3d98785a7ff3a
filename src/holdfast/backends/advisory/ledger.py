"""What all that is done for one client shares: its claims, the ids that ended, its sessions.

There is no mutex: each hand-over between threads is one operation of a ``dict``, and what belongs
to a session is changed only by whoever has the turn on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from math import inf
from typing import Any

from holdfast import clock
from holdfast.backends.advisory import faults
from holdfast.backends.advisory.greeting import see_to_tables
from holdfast.backends.advisory.hold import Hold
from holdfast.backends.advisory.names import number_of
from holdfast.backends.advisory.requests import Script
from holdfast.backends.advisory.session import Session, Settle, ignore
from holdfast.backends.advisory.sessions import Sessions
from holdfast.backends.advisory.target import Terms
from holdfast.backends.postgres.faults import MISSING
from holdfast.backends.postgres.requests import Statement
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Ended, Ending, Notice

REMEMBERED = 10_000
"""So many ids that ended are kept: a late copy of a claim must not come to life again."""


class Ledger:
    """The affairs of one client."""

    def __init__(self, terms: Terms, prefix: str, client: str, application: str) -> None:
        self.prefix = prefix
        self.terms = terms
        self.script = Script(terms.target.schema, prefix)
        self.sessions = Sessions(
            terms, client, application, on_end=self._session_ended, on_word=self._heard
        )
        self.claims: dict[str, Hold] = {}
        self.line: dict[str, Hold] = {}  # those that wait here until a session is free for them
        self._over: dict[str, Ending] = {}
        self.tell: Callable[[Notice], None] = lambda _notice: None
        self.wake: Callable[[], None] = lambda: None  # whoever watches the sessions

    def number(self, name: str) -> int:
        """Give the number under which a name is locked."""
        return number_of(self.prefix, name)

    def bury(self, claim_id: str, how: Ending) -> None:
        """Forget a claim, and remember how it ended."""
        self.claims.pop(claim_id, None)
        self.line.pop(claim_id, None)
        self._over.setdefault(claim_id, how)
        if len(self._over) > REMEMBERED:
            self._over.pop(next(iter(self._over)), None)

    def epitaph(self, claim_id: str) -> Ended | None:
        """Say how a claim ended, if it did."""
        how = self._over.get(claim_id)
        return None if how is None else Ended(claim_id, how)

    def ask(
        self, session: Session, statement: Statement, deadline: float, settle: Settle = ignore
    ) -> list[Any]:
        """Ask a session, in a turn on it; tables that were dropped are made again."""
        try:
            return session.ask(statement, deadline, settle)
        except BackendUnavailable as error:
            if getattr(error, "state", "") not in MISSING:
                raise
            see_to_tables(session.link, self.terms, deadline)
            return session.ask(statement, deadline, settle)

    def ask_main(self, statement: Statement, deadline: float) -> list[Any]:
        """Ask something that changes nothing about who holds what on the main session."""
        session = self.sessions.main(deadline)
        with session.turn(deadline):
            return self.ask(session, statement, deadline)

    def granted(self) -> list[Hold]:
        """Give everything that this client holds."""
        return [hold for session in self.sessions.all() for hold in tuple(session.holds.values())]

    def _session_ended(self, session: Session, reason: str) -> None:
        """Tell of every lock that ended with its session."""
        self.sessions.drop(session)
        for hold in tuple(session.holds.values()):
            hold.let_go()
            self.bury(hold.claim_id, "gone")
            self.tell(_notice("ended", hold, faults.ended(reason)))

    def _heard(self, payload: str) -> None:
        """Take in that somebody has broken a grant; by force it is given back at once."""
        try:
            token, reason, force = json.loads(payload)
            token, reason = int(token), str(reason)
        except (ValueError, TypeError):
            return  # every user of the database may say something on every channel
        for hold in self.granted():
            if hold.token == token:
                hold.broken = reason
                self.tell(_notice("forced" if force else "broken", hold, reason))
                if force:
                    hold.ends_at = -inf
                    self.wake()


def _notice(what: Any, hold: Hold, reason: str) -> Notice:
    claim = hold.claim
    return Notice(what, claim.inbox, claim.name, claim.claim_id, hold.token, reason=reason)


def remaining(session: Session, *, besides: Collection[Hold] = ()) -> float:
    """Say for how long a session must live on in silence, for all that it holds."""
    now = clock.now()
    ends = [hold.ends_at for hold in tuple(session.holds.values()) if hold not in besides]
    return max((end - now for end in ends if end > now), default=0.0)
