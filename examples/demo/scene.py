"""What all acts share: the narrator, a client that only looks, and lock names of this run's own."""

import os
import time
from dataclasses import dataclass, field

import holdfast
from examples.demo import report, verdict
from examples.demo.crew import Crew
from examples.demo.narrator import DIM, Narrator, standing
from examples.demo.report import Report

LIMIT = 5.0
"""How long an act waits for anything before it calls it missing."""

GLANCE = 0.02


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the demo."""

    client: holdfast.Client
    narrator: Narrator
    prefix: str = field(default_factory=lambda: f"demo:{os.getpid()}:")
    pids: list[int] = field(default_factory=list)

    def name(self, of: str) -> str:
        """Name a lock so that no other run, and nobody else, is disturbed."""
        return f"{self.prefix}{of}"

    def crew(self, of: str) -> Crew:
        """Gather workers around a lock."""
        return Crew(self.name(of), self.pids)

    def await_report(self, crew: Crew, who: str, what: str) -> Report | None:
        """Retell what is heard until ``who`` reports ``what``; ``None`` if that never comes."""
        until = time.monotonic() + LIMIT
        while told := crew.hear(until):
            self.narrator.retell(told)
            if told.who == who and told.what in (what, report.GONE):
                return told if told.what == what else None
        return None

    def await_waiters(self, crew: Crew, of: str, number: int) -> None:
        """Look until that many wait for the lock, and show who holds and who waits."""
        until = time.monotonic() + LIMIT
        info = self.client.show(self.name(of))
        while info.waiters < number and time.monotonic() < until:
            if told := crew.hear(time.monotonic() + GLANCE):
                self.narrator.retell(told)
            info = self.client.show(self.name(of))
        self.narrator.line("", f"({standing(info)})", DIM)

    def leftovers(self) -> verdict.Check:
        """Look for locks and processes that should be gone."""
        locks = [info.name for info in self.client.locks(self.prefix)]
        return verdict.tidy(locks, [pid for pid in self.pids if _is_alive(pid)])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
