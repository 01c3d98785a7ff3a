"""The nouns that every room shares and that users meet: who holds what, since when, for how long.

Only plain, frozen values live here: no clock, no I/O, no decision. A claim's id never appears in
any of them: whoever knows it can release the lease, so these are safe to show. They are named
tuples and not dataclasses, here and in ``rules``: every program that imports holdfast pays for
making each class (decision 0005).
"""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

Kind: TypeAlias = Literal["lock", "rwlock", "semaphore", "lead"]
"""What a name is used as; one name cannot be two kinds at once."""

Space: TypeAlias = Literal["cell", "once", "singleton", "limiter", "lead"]
"""Whose names these are: each of them has names of its own, apart from those of locks. What is kept
of a ``lead`` beside its name is its journal."""

NameSpace: TypeAlias = Literal["lock", "once", "singleton"]
"""Whose names can be held: locks of every kind share one space, ``once`` and ``singleton`` not."""

KINDS: tuple[Kind, ...] = ("lock", "rwlock", "semaphore", "lead")

OnLoss: TypeAlias = Literal["raise", "stop", "flag"]
"""What happens to the body when its lease is lost."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

NAME_LIMIT = 512
METADATA_LIMIT = 4096
QUEUE_LIMIT = 10_000
PERMITS_LIMIT = 10_000
READERS = 1_000_000
"""The capacity of a readers/writer lock: a reader takes one share, a writer all of them.

It must be the same for everyone who uses a name, so it is a constant, and never the real limit.
"""

APART = "\x1f"
"""What a claim's name begins with in another space than that of locks: no user's name has it."""


made = tuple.__new__
"""Makes a named tuple of all its fields, in their order: ``made(Holder, (…))``.

Its own constructor is a call of Python and takes twice as long; this is for the few places that
every cycle of a lock passes.
"""


class Holder(NamedTuple):
    """Who holds or waits: a client of some process on some host, with the label it gave itself."""

    client: str
    host: str
    pid: int
    label: str = ""

    def __str__(self) -> str:
        client = f" (client {self.client[:8]})" if self.client else ""  # none: another program
        where = f"{printable(self.host)}, pid {self.pid}{client}"
        return f"{printable(self.label)} on {where}" if self.label else where


class Tenure(NamedTuple):
    """One grant as others may see it.

    ``session`` is for people: which session of the server it is, where a lock belongs to one.
    """

    holder: Holder
    token: int
    weight: int
    since: float
    expires_in: float
    metadata: str = ""
    slots: tuple[int, ...] = ()
    broken: str = ""
    detached: bool = False
    session: str = ""

    def as_json(self) -> dict[str, Json]:
        """Give the grant as the CLI prints it with ``--json``."""
        return {
            "holder": str(self.holder),
            **_person(self.holder),
            "token": self.token,
            "weight": self.weight,
            "since": self.since,
            "expires_in": round(self.expires_in, 3),
            "metadata": loaded(self.metadata),
            "slots": list(self.slots),
            "broken": self.broken or None,
            "detached": self.detached,
            **({"session": self.session} if self.session else {}),
        }


class Place(NamedTuple):
    """One place in a queue as others may see it."""

    holder: Holder
    weight: int
    since: float
    session: str = ""

    def as_json(self) -> dict[str, Json]:
        """Give the waiter as the CLI prints it with ``--json``."""
        return {
            "holder": str(self.holder),
            **_person(self.holder),
            "weight": self.weight,
            "since": self.since,
            **({"session": self.session} if self.session else {}),
        }


class LockInfo(NamedTuple):
    """Everything there is to see of one name at one moment."""

    name: str
    kind: Kind
    capacity: int
    token: int
    holders: tuple[Tenure, ...]
    queue: tuple[Place, ...]
    space: NameSpace = "lock"
    votes: tuple[str, ...] = ()  # what each server of a quorum says

    @property
    def held(self) -> bool:
        """Whether anyone holds the name."""
        return bool(self.holders)

    @property
    def waiters(self) -> int:
        """How many claims wait for the name."""
        return len(self.queue)

    @property
    def holder(self) -> Holder | None:
        """The first of the holders, if there is any."""
        return self.holders[0].holder if self.holders else None

    @property
    def expires_in(self) -> float | None:
        """Seconds until the last of the grants ends by itself; ``None`` when the name is free."""
        return max((held.expires_in for held in self.holders), default=None)

    def as_json(self) -> dict[str, Json]:
        """Give the lock as the CLI prints it with ``--json``."""
        expires_in = self.expires_in
        return {
            "name": self.name,
            "space": self.space,
            "kind": self.kind,
            "token": self.token,
            "holder": str(self.holder) if self.holder else None,
            "expires_in": None if expires_in is None else round(expires_in, 3),
            "waiters": self.waiters,
            "holders": [held.as_json() for held in self.holders],
            "queue": [place.as_json() for place in self.queue],
            **({"votes": list(self.votes)} if self.votes else {}),
        }


class Capabilities(NamedTuple):
    """What one backend, on this platform, can do; ``notes`` says in words what it cannot.

    ``survives`` names what a lock on a server outlives: ``"restart"``, ``"failover"``,
    ``"eviction"``; it is known once the client has connected. ``records``: it keeps what ``cell``,
    ``once`` and ``singleton`` are made of; ``buckets``: what ``limiter`` is made of.
    ``all_at_once``: several names can be had in one step (in a cluster if they share a slot);
    otherwise they are taken one by one. ``detached``: a lease can be held without a process.
    ``queue``: who comes first is served first; a quorum has no queue, there whoever waits comes
    again.
    """

    backend: str
    scope: Literal["process", "host", "network"]
    wakeup: Literal["push", "tick"]
    notices_crash: bool
    min_ttl: float
    kinds: tuple[Kind, ...] = ("lock",)
    survives: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    records: bool = False
    buckets: bool = False
    all_at_once: bool = False
    detached: bool = True
    queue: bool = True


class Outcome(NamedTuple, Generic[T]):
    """What became of a function that runs only if the lock is free."""

    executed: bool
    result: T | None = None


def printable(text: str) -> str:
    """Escape what a terminal would obey: labels, hosts and metadata are untrusted text."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def apart(space: NameSpace, name: str) -> str:
    """Give the name under which a claim on ``name`` is kept; that of a lock is the name itself."""
    return name if space == "lock" else f"{APART}{space}:{name}"


def origin(claimed: str) -> tuple[NameSpace, str]:
    """Undo ``apart``: give the space and the name in it."""
    if not claimed.startswith(APART):
        return "lock", claimed
    space, _, name = claimed[1:].partition(":")
    return ("once" if space == "once" else "singleton"), name


def called(claimed: str) -> str:
    """Write a claim's name for a person: ``'orders:42'``, or ``once('orders:42')``."""
    space, name = origin(claimed)
    quoted = repr(printable(name))
    return quoted if space == "lock" else f"{space}({quoted})"


def loaded(metadata: str) -> dict[str, Json] | None:
    """Read metadata as a record keeps it; empty text is none."""
    if not metadata:
        return None
    import json  # most leases have none, and most programs look at none

    found: dict[str, Json] = json.loads(metadata)
    return found


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _person(holder: Holder) -> dict[str, Json]:
    return {
        "client": holder.client,
        "host": holder.host,
        "pid": holder.pid,
        "label": holder.label,
    }
