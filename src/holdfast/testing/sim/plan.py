"""A simulated world as data: who does what when, and what goes wrong.

A plan and nothing else decides a run: running it twice gives the same trace, and a failing plan can
be made smaller part by part. ``worlds`` draws plans from seeds, tests write them by hand.
"""

from __future__ import annotations

from math import inf
from typing import Literal, NamedTuple, TypeAlias

from holdfast.rules.messages import Want
from holdfast.testing.sim.errands.wishes import Wish
from holdfast.testing.sim.weather import Fate, Weather

Style: TypeAlias = Literal["aio", "sync"]

Leaving: TypeAlias = Literal["release", "all", "drop"]
"""How a body ends: it releases, it releases all its client has, or it is interrupted so early that
nobody ever had the lease."""


class Hold(NamedTuple):
    """Take a name, work under it, give it back."""

    name: str
    want: Want
    wait: float | None = None
    before: float = 0.0  # a pause before asking
    steps: tuple[float, ...] = (0.1,)  # how long each part of the body takes; it ends with a write
    gap: float = 0.002  # from the check to the write: where a pause does its harm
    freeze: float = 0.0  # the process is stopped for so long right after the first check
    renew: bool = True
    max_hold: float = inf
    extend: float = 0.0  # after the first step ask for this ttl
    insists: bool = True  # asks again until it got in
    watches: bool = False  # waits for the loss instead of working, as long as its steps take
    stops: bool = False  # the body is cancelled on loss
    leaving: Leaving = "release"


class Inspect(NamedTuple):
    """Look at a name, or break the grant that is found on it."""

    name: str
    before: float
    what: Literal["show", "list", "break", "force"] = "show"


Job: TypeAlias = Hold | Inspect | Wish


class Strike(NamedTuple):
    """Cancel or interrupt a caller at one of its suspensions."""

    task: int
    suspension: int
    after: float = 0.0  # how long after the suspension began


class Member(NamedTuple):
    """One client: its callers' jobs, its host's clock, what strikes it."""

    number: int
    style: Style
    jobs: tuple[tuple[Job, ...], ...]  # per caller
    rate: float = 1.0
    base: float = 0.0
    starts_at: float = 0.0
    call_limit: float = 5.0
    strikes: tuple[Strike, ...] = ()
    interrupt_at: int = 0  # Ctrl-C at this call of a port, counted over all its callers
    asks: tuple[tuple[int, Fate], ...] = ()  # the fates of messages of its callers, by number
    keeps: tuple[tuple[int, Fate], ...] = ()  # and of its keeper
    closes: bool = True  # the client is closed at the end, or only left alone


class Host(NamedTuple):
    """One server."""

    rate: float = 1.0
    base: float = 0.0
    wall: float = 1_000_000.0  # what its wall clock shows at the start
    one_clock: bool = False  # leases run on the wall clock, too
    quarantine: float = 10.0
    knows_dead: bool = False  # it is told when a client's process dies


class Quorum(NamedTuple):
    """Several servers in the place of one, of which a majority decides."""

    nodes: int
    skew: float = 0.0  # by how much the wall clock of each is ahead of the one before
    textbook: bool = False  # without the restart rule: who comes back empty votes at once


FaultKind: TypeAlias = Literal[
    "pause", "crash", "fork", "cut", "deaf", "unheard", "restart", "forget", "rollback", "wall",
    "leap", "keeper",
]  # fmt: skip


class Fault(NamedTuple):
    """Something that goes wrong at ``at``, for ``span`` seconds."""

    at: float
    kind: FaultKind
    who: int = 0  # the client, or the server
    span: float = 0.0
    amount: float = 0.0

    @property
    def ends_at(self) -> float:
        """When it is over."""
        return self.at + self.span


class Plan(NamedTuple):
    """Everything that decides a run."""

    members: tuple[Member, ...]
    faults: tuple[Fault, ...] = ()
    weather: Weather = Weather()
    host: Host = Host()
    noise: int = 0
    heals_at: float = 30.0  # from then on nothing goes wrong
    quorum: Quorum | None = None

    def longest_ttl(self) -> float:
        """Give the longest life that any lease of this plan can have."""
        return max(map(ttl_of, self._jobs()), default=0.0)

    def longest_stay(self) -> float:
        """Give the longest time that any body takes."""
        return max(map(_stay_of, self._jobs()), default=0.0)

    def longest_pause(self) -> float:
        """Give the longest time for which a process can be stopped."""
        frozen = sum(job.freeze for job in self._jobs() if isinstance(job, Hold))
        return frozen + sum(fault.span for fault in self.faults if fault.kind == "pause")

    def callers(self) -> int:
        """Count the callers."""
        return sum(len(member.jobs) for member in self.members)

    def _jobs(self) -> list[Job]:
        return [job for member in self.members for jobs in member.jobs for job in jobs]


def ttl_of(job: Job) -> float:
    """Say how long a lease of this job can live without renewal; 0 if it takes none."""
    if isinstance(job, Hold):
        return max(job.want.ttl, job.extend)
    return 0.0 if isinstance(job, Inspect) else job.ttl


def _stay_of(job: Job) -> float:
    if isinstance(job, Hold):
        return sum(job.steps) + job.gap * len(job.steps)
    return 0.0 if isinstance(job, Inspect) else job.stay
