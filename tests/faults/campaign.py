"""One fault run: a crew on a ground, every fault that the ground knows, and what came of it.

Faults come in rounds. In each round every kind happens once, in an order that the seed decides, and
now and then with a worker paused meanwhile; whom it hits and how long it lasts is up to the moment.
After each round there is peace for long enough to judge what only peace can show: that nobody waits
too long, that the line is fair, that everybody goes on.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.api.client import Client
from holdfast.testing.history.judge import judge
from holdfast.testing.history.terms import Terms
from holdfast.testing.verify.torments import ON_PROCESSES, Scene, Torment
from holdfast.testing.watching import eventually
from holdfast.testing.workload.crew import Crew, Worker
from holdfast.testing.workload.kinds import kind_of
from holdfast.testing.workload.plan import Habits, Mode, Plan
from holdfast.values import Capabilities
from tests.faults.aim import AimedScene
from tests.faults.ground import NAMES, PREFIX, ROOT, SLOW_TTL, TTL, Ground
from tests.faults.outcome import JUDGED, Outcome, resumed, words

QUICK: tuple[Mode, ...] = ("sync", "threads", "async")
SLOW: tuple[Mode, ...] = ("sync", "async")

SLOW_HOLD = 3 * SLOW_TTL
"""The longest stay of a slow worker: some last for several lives, so that renewals matter."""

RECOVERY = 6.0
PEACE = RECOVERY + 3.0
BREATH = (0.05, 0.5)
"""How long the crew is left alone between two faults."""

ERRANDS = 0.35
"""How often a quick worker does something else than to take one lock."""

PAUSED_MEANWHILE = 0.25
"""How often a worker is paused while something else happens."""

TERMS = Terms(waiting_limit=25.0, idle_limit=6.0, recovery=RECOVERY, telling_slack=1.5)
WARM_WITHIN, HOME_WITHIN = 120.0, 55.0
"""How long workers may take to start on a busy machine, and to finish their last turn."""

EMPTY_WITHIN = 2 * SLOW_TTL


def say(text: str) -> None:
    """Print without delay: a long run is watched."""
    sys.stdout.write(text)
    sys.stdout.flush()


@dataclass(slots=True, kw_only=True)
class Campaign:
    """A run that is yet to be made; it makes at least one round, however few the seconds."""

    ground: Ground
    folder: Path
    seconds: float
    seed: int
    only: Sequence[str] = ()
    """The names of the faults to choose from, if not all."""

    until: frozenset[str] = frozenset()
    """Rules: once one of them accuses, there are no more rounds."""

    names: tuple[str, ...] = NAMES
    peace: float = PEACE

    say: Callable[[str], None] = say

    def run(self) -> Outcome:
        """Make the run. The ground must have been started; the folder must be empty."""
        with Client(self.ground.url(), prefix=PREFIX) as client:
            can = client.capabilities
        self.names = tuple(name for name in self.names if kind_of(name) in can.kinds)
        plan = Plan(
            url=self.ground.url(),
            folder=str(self.folder),
            prefix=PREFIX,
            names=self.names,
            seed=self.seed,
            ttl=TTL,
            habits=Habits(errands=ERRANDS),
        )
        slow = replace(plan, ttl=SLOW_TTL, hold=SLOW_HOLD, actors=1, habits=Habits(extends=0.0))
        self.say(f"{self.ground.name}: {self.seconds:g} s with seed {self.seed}\n")
        environment = {"PYTHONPATH": str(ROOT)}  # for workers that are programs of the tests
        with Crew(plan, program=self.ground.program, environment=environment) as crew:
            for mode in QUICK:
                crew.start(mode)
            for mode in SLOW:
                crew.start(mode, slow)
            eventually(self._is_warm, WARM_WITHIN, "work on every name")
            dice = random.Random(f"{self.seed}/scene")
            done = self._rounds(AimedScene(crew, self.ground.proxy, dice))
            stuck = crew.send_home(HOME_WITHIN)
            left = self._left_held()
            return Outcome(
                ground=self.ground.name,
                seed=self.seed,
                torments=done,
                missing=[name for name in map(_name, self._torments()) if not done[name]],
                left_out=self.ground.left_out,
                verdict=crew.judge(replace(TERMS, tokens_in_line=can.detached)),
                resumed=resumed(self.folder),
                stuck=[f"{worker.name}:\n{words(worker)}" for worker in stuck],
                failed=[f"{one.name}:\n{words(one)}" for one in _faulty(crew)],
                left_held=left,
                queue=self.ground.queue,
                expected=(*JUDGED, *_of_families(can)),
            )

    def _is_warm(self) -> bool:
        """Whether every name has been taken; to look costs something, so it is done seldom."""
        time.sleep(0.1)
        return len(resumed(self.folder)) == len(self.names)

    def _torments(self) -> list[Torment]:
        every = [*ON_PROCESSES, *self.ground.torments()]
        if unknown := {*self.only} - {_name(one) for one in every}:
            known = ", ".join(sorted(map(_name, every)))
            raise SystemExit(f"no such fault: {', '.join(sorted(unknown))} (there are: {known})")
        return [one for one in every if not self.only or _name(one) in self.only]

    def _rounds(self, scene: Scene) -> Counter[str]:
        # Dice of its own: how often the scene's are rolled depends on who is inside just then.
        schedule = random.Random(f"{self.seed}/schedule")
        single = {*ON_PROCESSES, *self.ground.undisturbed()}
        done: Counter[str] = Counter()
        began = time.monotonic()
        while not done or (time.monotonic() < began + self.seconds and not self._has_enough()):
            round_ = self._torments()
            schedule.shuffle(round_)
            for torment in round_:
                meanwhile = schedule.random() < PAUSED_MEANWHILE and torment not in single
                self._strike(torment, scene, time.monotonic() - began, meanwhile=meanwhile)
                done[_name(torment)] += 1
                time.sleep(schedule.uniform(*BREATH))
            self.say(f"{time.monotonic() - began:7.1f} s  peace\n")
            time.sleep(self.peace)
        return done

    def _has_enough(self) -> bool:
        return bool(self.until and self.until & set(judge(self.folder, TERMS).found))

    def _strike(self, torment: Torment, scene: Scene, at: float, *, meanwhile: bool) -> None:
        if not meanwhile:
            self.say(f"{at:7.1f} s  {_name(torment)}\n")
            torment(scene)
            return
        victim = scene.one()
        self.say(f"{at:7.1f} s  {_name(torment)}, while {victim.name} is paused\n")
        with scene.crew.paused(victim):
            torment(scene)

    def _left_held(self) -> list[str]:
        """Name what is still held when every lease of the dead must be over."""
        with Client(self.ground.url(), prefix=PREFIX) as client:
            give_up_at = time.monotonic() + EMPTY_WITHIN
            while (held := client.locks()) and time.monotonic() < give_up_at:
                time.sleep(0.05)
            return [str(info) for info in held]


def _of_families(can: Capabilities) -> list[str]:
    """Name the rules that have something to judge only where a backend has these families."""
    return ["updates", "results", "slots"] * can.records + ["rates"] * can.buckets


def _faulty(crew: Crew) -> list[Worker]:
    """Give the workers that ended with an error, or met one and went on."""
    loud = [worker for worker in crew.workers if "Traceback" in words(worker)]
    return loud + [worker for worker in crew.failed() if worker not in loud]


def _name(torment: Torment) -> str:
    return torment.__name__.replace("_", " ")
