"""One trial: start a crew, let it work in peace, torment it, let it recover, judge, clean up.

The peace before and after the storm is where waiting times and the order of the line are judged: a
fault excuses both. Everything is undone however the trial ends, also by a Ctrl-C.
"""

from __future__ import annotations

import random
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.api.client import Client
from holdfast.settings import Address, address
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Verdict
from holdfast.testing.verify.cleaning import clean
from holdfast.testing.verify.coverage import NAMES, impossible, judged, names_on
from holdfast.testing.verify.road import Road
from holdfast.testing.verify.torments import (
    ON_PROCESSES,
    ON_SESSIONS,
    ON_THE_NETWORK,
    ON_THE_ONE_PROCESS,
    Scene,
    Torment,
)
from holdfast.testing.workload.crew import Crew
from holdfast.testing.workload.doors import wanted
from holdfast.testing.workload.plan import Habits, Mode, Plan
from holdfast.testing.workload.traces import traces
from holdfast.values import Capabilities

TTL = 1.0
ERRANDS = 0.35
"""How often a worker does something else than to take one lock, share, permit or the lead."""

CALM_BEFORE, CALM_AFTER = 0.25, 0.2
"""Which parts of the time are free of faults."""

BREATH = (0.05, 0.4)
"""How long the crew is left alone between two faults."""

BEGIN_WITHIN, HOME_WITHIN = 30.0, 30.0
"""How long workers may take to start on a busy machine, and to finish their last turn."""

TERMS = Terms(waiting_limit=20.0, idle_limit=6.0, recovery=TTL + 5.0)

Progress = Callable[[float, str], None]
"""Told how many seconds have passed, and what is going on."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a trial has found, and under which circumstances."""

    address: Address
    capabilities: Capabilities
    seed: int
    seconds: float
    modes: list[Mode]
    verdict: Verdict
    primitives: dict[str, int]
    """How often each was judged; those that the backend does not have are not there."""

    not_covered: list[str]
    stuck: list[str] = field(default_factory=list)
    left_behind: str = ""
    histories: Path | None = None


@dataclass(slots=True, kw_only=True)
class Trial:
    """A trial that is yet to be made. ``seconds`` is how long the crew works."""

    url: str | None
    seconds: float
    workers: int
    seed: int
    progress: Progress = lambda _seconds, _what: None
    prefix: str = field(default_factory=lambda: f"holdfast-verify-{secrets.token_hex(6)}")
    left_behind: str = ""
    """What could not be removed, once the trial is over, however it ended."""

    def run(self) -> Outcome:
        """Make the trial. ``BackendUnavailable`` if the backend cannot be reached to begin with."""
        where = address(self.url)
        capabilities = self._look_at(where)
        folder = Path(tempfile.mkdtemp(prefix="holdfast-verify-"))
        try:
            with self._cleaned(where, folder):
                outcome = self._tried(where, capabilities, folder)
            outcome.left_behind = self.left_behind
        except BaseException:
            _remove(folder)
            raise
        if outcome.verdict.ok:
            _remove(folder)
        else:
            outcome.histories = folder
        return outcome

    def _look_at(self, where: Address) -> Capabilities:
        with Client(where.url, prefix=self.prefix) as client:
            client.show("a")
            return client.capabilities

    def _warm_up(self, where: Address, names: Sequence[str]) -> None:
        """Wait until every name is granted: a server that has just started may hold grants back.

        That is no fault of its own, and nobody should be accused of having left a name free then.
        """
        self.progress(0.0, "the backend is waited for")
        with Client(where.url, prefix=self.prefix) as client:
            for name in names:
                with wanted(client, name, shares=False):
                    pass

    def _tried(self, where: Address, capabilities: Capabilities, folder: Path) -> Outcome:
        names = names_on(capabilities)
        self._warm_up(where, names)
        with Road(where) as road:
            modes, torments, not_covered = self._possible(capabilities, road)
            plan = Plan(
                url=road.url,
                folder=str(folder),
                prefix=self.prefix,
                names=names,
                seed=self.seed,
                ttl=max(TTL, capabilities.min_ttl),
                habits=_habits(capabilities),
            )
            with Crew(plan) as crew:
                for mode in modes:
                    crew.start(mode)
                crew.await_first_words(BEGIN_WITHIN)
                crew.await_first_lease(BEGIN_WITHIN)  # what is not begun then is said at the end
                dice = random.Random(self.seed)  # noqa: S311 - faults, no secret
                self._torment(Scene(crew, road.proxy, dice), torments)
                self.progress(self.seconds, "the workers go home")
                stuck = crew.send_home(HOME_WITHIN)
                self.progress(self.seconds, "the histories are judged")
                verdict = crew.judge(replace(TERMS, tokens_in_line=capabilities.detached))
        return Outcome(
            address=where,
            capabilities=capabilities,
            seed=self.seed,
            seconds=self.seconds,
            modes=modes,
            verdict=verdict,
            primitives=judged(verdict, capabilities),
            not_covered=not_covered,
            stuck=[f"{worker.name}: {worker.log.read_text('utf-8')}" for worker in stuck],
        )

    @contextmanager
    def _cleaned(self, where: Address, folder: Path) -> Iterator[None]:
        """Remove at the end what the crew has left; a Ctrl-C in the middle of that has to wait."""
        since = now_ns()
        try:
            yield
        finally:
            try:
                self._clean(where, folder, since)
            except BaseException:  # whoever interrupts does it once
                self._clean(where, folder, since)
                raise

    def _clean(self, where: Address, folder: Path, since: int) -> None:
        left = traces(NAMES, folder, since, now_ns())
        self.left_behind = clean(where, self.prefix, left)

    def _possible(
        self, capabilities: Capabilities, road: Road
    ) -> tuple[list[Mode], list[Torment], list[str]]:
        """Choose workers and faults by what the backend is; name what is left out, and why."""
        not_covered = [f"cut, late and lost messages: {road.why_not}"] if road.why_not else []
        if lacking := impossible(capabilities):
            not_covered.append(f"{', '.join(lacking)}: {capabilities.backend} does not have them")
        network = list(ON_THE_NETWORK) if road.proxy is not None else []
        if network and not capabilities.detached:
            network = list(ON_SESSIONS)
            not_covered.append("connections that are cut: a lock here dies with its connection")
        if capabilities.scope == "process":
            not_covered.append(
                "several processes, kill -9 and fork: what is in memory is one process's own"
            )
            return ["mixed"], [*ON_THE_ONE_PROCESS, *network], not_covered
        kinds: tuple[Mode, ...] = ("sync", "threads", "async")
        modes = [kinds[number % len(kinds)] for number in range(self.workers)]
        not_covered.append("clocks that jump, and what the server does when it is restarted")
        return modes, [*ON_PROCESSES, *network], not_covered

    def _torment(self, scene: Scene, torments: list[Torment]) -> None:
        began = time.monotonic()
        storm_at = began + self.seconds * CALM_BEFORE
        calm_at = began + self.seconds * (1 - CALM_AFTER)
        end = began + self.seconds
        breaths = random.Random()  # noqa: S311 - how often it is rolled depends on the machine
        deck: list[Torment] = []
        while (now := time.monotonic()) < end:
            if storm_at <= now < calm_at and any(one.alive for one in scene.crew.workers):
                if not deck:  # each kind once before any comes again
                    deck = scene.dice.sample(torments, len(torments))
                torment = deck.pop()
                self.progress(now - began, torment.__name__.replace("_", " "))
                torment(scene)
                now = time.monotonic()
            self.progress(now - began, "peace")
            time.sleep(min(breaths.uniform(*BREATH), max(0.0, end - now)))


def _habits(can: Capabilities) -> Habits:
    """Let workers do everything that the backend can; memory cannot be shared with a fork."""
    habits = Habits(errands=ERRANDS)
    return replace(habits, forks=0.0) if can.scope == "process" else habits


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
