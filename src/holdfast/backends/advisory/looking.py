"""Looking at names, and taking one away from its holder."""

from __future__ import annotations

from typing import Any

from holdfast.backends.advisory import faults
from holdfast.backends.advisory.ending import Leaving
from holdfast.backends.advisory.ledger import Ledger
from holdfast.backends.advisory.replies import holders_of, listed, lock_info, rows_of
from holdfast.rules.messages import Break, Broke, ListNames, Look, NotHeld, Release, Seen

GRACE = 200
"""Milliseconds in which a holder that is well lets go by itself, before its session is ended."""

FOREIGN = "#"
"""How the name of a lock begins that another program has taken: its number follows."""


class Looking:
    """Shows what is locked, and breaks it."""

    def __init__(self, ledger: Ledger, leaving: Leaving) -> None:
        self._ledger = ledger
        self._leaving = leaving

    def answer(self, request: Look | ListNames | Break, deadline: float) -> Seen | Broke | NotHeld:
        """Show or break something."""
        match request:
            case Look():
                return self._look(request, deadline)
            case ListNames():
                return self._list(request, deadline)
            case Break():
                return self._take_away(request, deadline)

    def _look(self, request: Look, deadline: float) -> Seen:
        """Show one name, or one number of another program."""
        ledger, name = self._ledger, request.name
        rows = rows_of(ledger.ask_main(ledger.script.look(ledger.number(name)), deadline)[2])
        rows = [row for row in rows if row.name in (None, name)]
        if not rows and name.startswith(FOREIGN):
            answer = ledger.ask_main(ledger.script.listing(name, foreign=True), deadline)
            rows = [row for row in rows_of(answer[2]) if row.title == name]
        return Seen((lock_info(name, rows),))

    def _list(self, request: ListNames, deadline: float) -> Seen:
        """Show every name that starts like that; without a start also what other programs have."""
        ledger, start = self._ledger, request.prefix
        foreign = not start or start.startswith(FOREIGN)
        answer = ledger.ask_main(ledger.script.listing(start, foreign=foreign), deadline)
        found = [
            one
            for one in listed(rows_of(answer[2]))
            if one.name.startswith(start) and one.name.encode() > request.after.encode()
        ]
        return Seen(tuple(found[: request.limit]))

    def _take_away(self, request: Break, deadline: float) -> Broke | NotHeld:
        """Mark a grant; by force, see to it that it is gone."""
        ledger = self._ledger
        number, token = ledger.number(request.name), request.token
        reason = request.reason or "broken"
        statement = ledger.script.mark(number, token, reason, force=request.force)
        answer = ledger.ask_main(statement, deadline)
        holders = holders_of(rows_of(answer[2]))
        broken = next((held for held in holders if held.token == token and token), None)
        if answer[1] == "free" or broken is None:
            return NotHeld(holders)
        if request.force:
            self._evict(request, number, deadline)
        return Broke(broken._replace(broken=reason))

    def _evict(self, request: Break, number: int, deadline: float) -> None:
        ledger = self._ledger
        for hold in ledger.granted():
            if hold.token == request.token:  # our own: nobody has to be asked
                self._leaving.end(Release(request.name, hold.claim_id), deadline)
                return
        session = ledger.sessions.side(deadline)
        answer: list[Any]
        try:
            with session.turn(deadline):
                statement = ledger.script.evict(number, request.token, GRACE)
                answer = ledger.ask(session, statement, deadline)
        except BaseException:
            session.close()
            raise
        ledger.sessions.rest(session)
        if answer[1] == "stays":
            raise faults.vanished(request.name)
