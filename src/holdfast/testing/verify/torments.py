"""The faults that need no privilege, one function each; every one is undone before it returns.

Each says *before* it acts that it will (``crew.fault``), and where it cuts processes off for
certain it says so, because nobody may believe beyond that. What workers do to themselves (they
cancel, fork, block their loop, leave by errors, break locks) is in their habits, not here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.workload.crew import Crew, Worker

LONG = (1.2, 2.6)
"""How many lives of a lease a fault lasts that is to outlast it."""

SHORT = (0.05, 0.8)


@dataclass(frozen=True, slots=True)
class Scene:
    """Whom and what a fault can hit."""

    crew: Crew
    proxy: Proxy | None
    dice: random.Random

    def one(self) -> Worker:
        """Pick a worker that is alive."""
        return self.dice.choice([worker for worker in self.crew.workers if worker.alive])

    def wait(self, lives: tuple[float, float]) -> None:
        """Do nothing for so many lives of a lease."""
        time.sleep(self.dice.uniform(*lives) * self.crew.plan.ttl)

    def network(self) -> Proxy:
        """Give the proxy; network faults are chosen only where there is one."""
        if self.proxy is None:
            raise LookupError("there is no proxy on this road")
        return self.proxy


Torment = Callable[[Scene], None]


def kill(scene: Scene) -> None:
    """Kill a worker -9, and start another."""
    scene.crew.replace(scene.one())


def pause(scene: Scene) -> None:
    """Stop a worker for longer than its lease lives."""
    with scene.crew.paused(scene.one()):
        scene.wait(LONG)


def hiccup(scene: Scene) -> None:
    """Stop a worker for less than its lease lives."""
    with scene.crew.paused(scene.one()):
        scene.wait(SHORT)


def cut(scene: Scene) -> None:
    """Cut every connection; new ones are welcome."""
    with scene.crew.fault("cut"):
        scene.network().cut(politely=scene.dice.random() < 0.5)  # noqa: PLR2004 - a coin


def outage(scene: Scene) -> None:
    """Cut every connection, and refuse new ones for a while."""
    proxy = scene.network()
    with scene.crew.fault("outage") as fault:
        proxy.refuse()
        proxy.cut()
        fault.isolated()
        scene.wait(scene.dice.choice([SHORT, LONG]))
        fault.rejoined()
        proxy.mend()


def silence(scene: Scene) -> None:
    """Swallow everything for a while: connections stay open, and nobody answers."""
    proxy = scene.network()
    with scene.crew.fault("silence") as fault:
        proxy.silence()
        fault.isolated()
        scene.wait(scene.dice.choice([SHORT, LONG]))
        fault.rejoined()
        proxy.mend()


def stall(scene: Scene) -> None:
    """Keep everything back for a while, and deliver it late."""
    proxy = scene.network()
    with scene.crew.fault("stall") as fault:
        proxy.hold()
        fault.isolated()
        scene.wait(scene.dice.choice([SHORT, LONG]))
        fault.rejoined()
        proxy.mend()


def lag(scene: Scene) -> None:
    """Make every word take longer."""
    proxy = scene.network()
    with scene.crew.fault("lag"):
        proxy.delay(scene.dice.uniform(0.005, 0.1) * scene.crew.plan.ttl)
        scene.wait(LONG)
        proxy.mend()


def lost_replies(scene: Scene) -> None:
    """Lose replies after the server has done what it was asked."""
    proxy = scene.network()
    with scene.crew.fault("lost replies"):
        proxy.drop_reply(bool, times=scene.dice.randint(1, 5))
        scene.wait(SHORT)
        proxy.mend()


ON_PROCESSES: tuple[Torment, ...] = (kill, pause, hiccup)
ON_THE_ONE_PROCESS: tuple[Torment, ...] = (pause, hiccup)
ON_THE_NETWORK: tuple[Torment, ...] = (cut, outage, silence, stall, lag, lost_replies)
ON_SESSIONS: tuple[Torment, ...] = (silence, stall, lag, lost_replies)
"""Those in which a lock is kept that dies with its connection."""
