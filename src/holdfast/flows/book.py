"""What one client holds and waits for: the private state that callers and keeper share.

There is no mutex. Every hand-over between threads is one atomic operation of a ``dict`` or
``deque``: whoever pops a lease from ``leases`` decides its end. Nothing here refers to a public
object, so that a forgotten lease can be collected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import NamedTuple, Protocol
from weakref import ref

from holdfast.ports import Bell, Push, Wire
from holdfast.rules.messages import Ended, Granted, Notice, Release, Want, Withdraw
from holdfast.values import Tenure

REMEMBERED = 10_000
"""How many names' largest tokens a client remembers."""

_WHY = {"broken": "broken: {}", "forced": "broken by force: {}", "ended": "{}"}
"""What a notice says of a lease that is over, by what it is."""


class Company:
    """Leases that stand and fall together. Their public set refers to it, they only weakly."""

    __slots__ = ("__weakref__", "fallen", "states")

    def __init__(self) -> None:
        self.states: list[LeaseState] = []
        self.fallen: LeaseState | None = None  # the one whose loss was the loss of all

    def join(self, state: LeaseState) -> None:
        """Let a lease belong to it: from now on nobody takes it for one that was never received."""
        self.states.append(state)
        state.company = ref(self)

    def holds(self, now: float) -> bool:
        """Whether all of them are good."""
        return all(state.holds(now) for state in self.states)

    def first_lost(self, now: float) -> LeaseState | None:
        """Give the one that was lost first, as far as that is known."""
        if self.fallen is not None:
            return self.fallen
        return next((state for state in self.states if state.is_lost(now)), None)


class LeaseState:
    """One lease that this client was granted. ``Lease`` is its public face."""

    # What is the same for every lease at its beginning is set only when it changes.
    count = 1  # how often its owner is inside
    withs = 0  # how many of these are ``with``s
    let_go = 0  # and how many of those were released by hand, and let nothing go when they are left
    face: Callable[[], object] | None = None  # a weak reference to the public lease
    looks = 0  # how often the keeper has looked for its face, and when it looks again
    look_at = -inf
    loss = ""
    complained = False  # whether a caller was told of the loss by an error
    released = False
    handed = False  # whether it came, or may have come, straight from the one before
    behind: tuple[Tenure, ...] = ()  # who held it when we were last told so in line
    company: Callable[[], Company | None] | None = None  # weakly: those it stands and falls with

    # By position: eleven keywords would take as long as all the rest of this.
    def __init__(
        self,
        name: str,
        granted: Granted,
        want: Want,
        deadline: float,
        renew_at: float,
        wants_renewal: bool,  # noqa: FBT001 - see above
        started_at: float,
        stop_at: float,
        push: Push,
        owner: object,
        place: tuple[str, int],
    ) -> None:
        self.name = name
        self.claim_id, self.token, _, self.granted_at, self.slots = granted
        self.want = want
        self.ttl = ttl = want.ttl
        self.deadline = deadline  # moved only by a confirmed reply
        self.renew_at = renew_at
        self.wants_renewal = wants_renewal
        self.started_at = started_at
        self.stop_at = stop_at  # max_hold: not renewed beyond it
        self.at_limit = started_at + ttl >= stop_at  # it lives until then, and no longer
        self.push = push
        self.owner = owner
        self.place = place
        self.listeners: list[Callable[[], object]] = []  # each is called once, on loss
        self.watchers: list[Bell] = []  # rung when the lease ends, in whatever way

    def holds(self, now: float) -> bool:
        """Whether the holder may still believe. Always the clock's word, never a flag's alone."""
        return now < self.deadline and not self.loss and not self.released

    @property
    def surely_over_at(self) -> float:
        """When the backend has ended it: a renewal nobody heard of may have moved that by a ttl."""
        return self.deadline + self.ttl

    def is_lost(self, now: float) -> bool:
        """Whether the lease ended without having been released."""
        return bool(self.loss) or (now >= self.deadline and not self.released)

    def why_lost(self) -> str:
        """Say why, also when only the clock has noticed so far."""
        return self.loss or ("it was released" if self.released else self.why_over())

    def why_over(self) -> str:
        """Say why the deadline was reached."""
        if self.at_limit:
            return "max_hold is over"
        if not self.wants_renewal:
            return "its ttl is over and it was taken with renew=False"
        return "its deadline passed without a confirmed renewal"


class Handed(NamedTuple):
    """What a notice said: granted, with a first life that is yet to be confirmed."""

    granted: Granted


class Confirmed(NamedTuple):
    """What a reply said: granted, to a question sent at ``asked_at``."""

    granted: Granted
    asked_at: float


Outcome = Handed | Confirmed | Ended


class Ticket:
    """One claim that is on its way or waits."""

    # What is the same for every claim at its beginning is set only when it changes.
    bell: Bell | None = None
    outcome: Outcome | None = None
    confirmed_at = -inf  # send time of the last question answered "still waiting"
    renew_at = inf  # not the keeper's business until the claim is known to be queued
    retry_at = inf
    holders: tuple[Tenure, ...] = ()
    deaf = False  # nobody could be told for a while, so others may have been let in
    doubtful = False  # a copy of the claim may still be under way
    broken = False  # it was granted and taken away again, before we heard of either
    resting = False  # its try has failed, and it pauses before the next
    hurries = False  # it was told that the name is free before it could rest

    def __init__(self, name: str, claim_id: str, ttl: float) -> None:
        self.name = name
        self.claim_id = claim_id
        self.ttl = ttl

    def good(self) -> bool:
        """Whether nobody has taken it away; another thread may have heard of that just now."""
        return not self.broken

    def settle(self, outcome: Outcome) -> None:
        """Put the outcome down, then ring: the waiter looks after it has hung up its bell."""
        if self.outcome is None:
            self.outcome = outcome
            if self.bell is not None:
                self.bell.ring()


class Duty(Protocol):
    """Something to be told the backend before a lease is given back, while its body works.

    The keeper does it as soon as it can, or whoever gives the lease back and finds it undone: it
    may be done by both at once, and has to come to the same as if it was done by one.
    """

    @property
    def state(self) -> LeaseState:
        """The lease that it belongs to."""
        ...

    async def do(self, wire: Wire, by: float) -> None:
        """Do it by then, or raise ``BackendUnavailable``; ``LockLost`` if the lease is over."""
        ...


class Chore(NamedTuple):
    """Something the keeper still has to tell the backend, as long as it can matter."""

    request: Release | Withdraw
    until: float


class Book:
    """All leases, tickets, duties and chores of one client."""

    def __init__(self) -> None:
        self.leases: dict[str, LeaseState] = {}
        self.tickets: dict[str, Ticket] = {}
        self.duties: dict[str, Duty] = {}  # by claim: what is yet to be done under its lease
        self.chores: deque[Chore] = deque()
        self.owned: dict[tuple[str, object], LeaseState] = {}
        self.asleep_until = inf  # when the keeper looks again by itself; inf: only if woken
        self.pace = inf  # the soonest that any lease begun since the last turn will be due
        self.closing = False  # nothing new is begun, and what is held is given back
        self.closed = False  # nobody is left to do a chore
        self._tokens: dict[str, int] = {}
        self._said: dict[str, float] = {}

    def seen_token(self, name: str) -> int:
        """Give the largest token that this client has seen for ``name``."""
        return self._tokens.get(name, 0)

    def see_token(self, name: str, token: int) -> None:
        """Remember a token; the names not seen for longest are forgotten first."""
        tokens = self._tokens
        known = tokens.pop(name, 0)
        tokens[name] = token if token > known else known  # noqa: FURB136 - max() costs a call
        if len(tokens) > REMEMBERED:
            tokens.pop(next(iter(tokens)), None)

    def may_say(self, name: str, now: float, every: float) -> bool:
        """Whether a long wait for ``name`` is worth a word: a thousand waiters have but one."""
        if now - self._said.get(name, -inf) < every / 2:
            return False
        if len(self._said) > REMEMBERED:
            self._said.clear()
        self._said[name] = now
        return True

    def deliver(self, notice: Notice) -> None:
        """Take a notice in, from whichever thread heard it."""
        match notice.what:
            case "granted":
                self._granted(notice)
            case "broken" | "forced" | "ended":
                self._broken(notice)
            case "opened":
                self._ask_at_once()
            case "missed":
                self._missed()
            case "freed":
                self._freed(notice.name)
            case "forgotten":
                for state in tuple(self.leases.values()):
                    state.deadline = -inf  # somebody else may be in already
                    state.loss = notice.reason

    def _granted(self, notice: Notice) -> None:
        ticket = self.tickets.get(notice.claim_id)
        if ticket is not None and notice.token > self.seen_token(notice.name):
            granted = Granted(
                notice.claim_id, notice.token, notice.life, notice.granted_at, notice.slots
            )
            ticket.settle(Handed(granted))

    def _missed(self) -> None:
        """Take in that the inbox was deaf, so that whoever waits may have been passed over."""
        for ticket in tuple(self.tickets.values()):
            if ticket.renew_at < inf:
                ticket.deaf = True
        self._ask_at_once()

    def _ask_at_once(self) -> None:
        """Let whoever is known to wait ask what became of it: nobody may have heard the answer."""
        for ticket in tuple(self.tickets.values()):
            if ticket.renew_at < inf:
                ticket.renew_at = -inf
            elif ticket.resting:
                self._freed(ticket.name)

    def _freed(self, name: str) -> None:
        """Let one of those come again at once: who rests longest, or is just about to rest."""
        mine = [ticket for ticket in tuple(self.tickets.values()) if ticket.name == name]
        for ticket in mine:
            if ticket.resting:
                ticket.resting = False
                if ticket.bell is not None:
                    ticket.bell.ring()
                return
        for ticket in mine[:1]:
            ticket.hurries = True  # the word was quicker than the answer to its claim

    def _broken(self, notice: Notice) -> None:
        ticket = self.tickets.get(notice.claim_id)
        if ticket is not None:
            ticket.broken = True  # before the look at the leases: it may just become one
        state = self.leases.get(notice.claim_id)
        if state is not None and state.token == notice.token:
            if notice.what != "broken":
                state.deadline = -inf  # somebody else may be in already
            state.loss = _WHY[notice.what].format(notice.reason)
            state.renew_at = -inf  # the keeper looks at it next, and tells
