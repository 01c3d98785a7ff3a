"""Who watches an election is told of true leaders only, of each once, in the order of their tokens.

And of every one: who began to lead after an observer was first told how things are is told to it
before anybody that came later. Excused are those who died or lost the lead before they were in the
journal, and those who said that they would not be; who was in it while it led never is. That nobody
leads is not told of somebody who leads. That there are never two of them is ``exclusion``, as for
every lock. The order is checked in every world whose tokens are promised; the rest where leases
are, and nothing that was written is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.flows.book import LeaseState
from holdfast.flows.journal import read
from holdfast.flows.lead import Change, Watching
from holdfast.observe.events import Unrecorded
from holdfast.rules.record_messages import Swap
from holdfast.testing.sim.promises import remembers

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "leaders are told in order"
ALL = "every leader is told"
TRUE = "who leads is not called nobody"


class Term(NamedTuple):
    """Somebody who leads, or has led."""

    client: Client
    state: LeaseState


class Leaders:
    """Remembers what each observer was told, and whom it is to be told of."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._due: dict[Watching, list[Term]] = {}  # whom each observer is still to be told of
        self._told: dict[Watching, int] = {}  # the newest token by observer
        self._put_down: set[tuple[str, int]] = set()  # those in the journal while they led
        self._excused: set[tuple[str, int]] = set()  # those who could not be, or said so

    def began(self, client: Client, state: LeaseState) -> None:
        """Note that somebody begins to do what a leader does."""
        for watching, due in self._due.items():
            if watching.name == state.name and state.token > self._told[watching]:
                due.append(Term(client, state))

    def landed(self, swap: Swap) -> None:
        """Note that a journal was written, and which of those who are in it leads."""
        server = self._watch.world.server
        led = {line.tenure.token for line in read(swap.value, "sim")}
        for grant in server.records[swap.name].grants if swap.name in server.records else ():
            if grant.token in led and server.now() < grant.ends_at:
                self._put_down.add((swap.name, grant.token))

    def unrecorded(self, event: Unrecorded) -> None:
        """Note that a leader has told that it is not in the journal."""
        self._excused.add((event.name, event.token))

    def granted(self, name: str) -> None:
        """Note that somebody is about to lead: who led before had its time to be put down."""
        for watching, due in self._due.items():
            for client, state in due if watching.name == name else ():
                if client.dead or state.loss or client.now() >= state.deadline:
                    self._excused.add((name, state.token))

    def _is_excused(self, state: LeaseState) -> bool:
        key = (state.name, state.token)
        return key in self._excused and key not in self._put_down

    def told(self, client: Client, watching: Watching, change: Change) -> None:
        """Look at what an observer was told."""
        watch = self._watch
        watch.family.done += 1
        strict = watch.promises.exclusion and remembers(watch.world.plan)
        due = self._due.setdefault(watching, [])
        name, before = watching.name, self._told.setdefault(watching, 0)
        if change.leader is None:
            if strict:
                self._look_for(client, name, before)
            return
        token = change.leader.token
        if token <= before:
            text = f"{client.name} was told of token {token} of {name!r} after {before}"
            watch.fail(NAME, text)
        self._told[watching] = token
        if not watch.tokens.is_of(name, token, change.leader.holder.client):
            text = f"{client.name} was told of a leader of {name!r} that never was: token {token}"
            watch.fail(NAME, text)
        earlier = [term.state for term in due if term.state.token < token]
        missed = [state.token for state in earlier if not self._is_excused(state)]
        if missed and strict:
            text = f"{client.name} was told of token {token} of {name!r}, and never of {missed}"
            watch.fail(ALL, text)
        self._due[watching] = [term for term in due if term.state.token > token]

    def _look_for(self, client: Client, name: str, token: int) -> None:
        """See that the one who was told last does not lead."""
        for stay in self._watch.stays.get(name, ()):
            state = stay.state
            leads = state.holds(stay.client.now()) and not stay.leaving and not stay.inherited
            if state.token == token and leads:
                text = f"{client.name} was told that nobody leads {name!r}, but {token} does"
                self._watch.fail(TRUE, text)
