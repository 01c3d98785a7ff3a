"""What all acts share: the narrator, a client that only looks, and names of this run's own."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import holdfast
from examples.demo import report
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
    started: list[int] = field(default_factory=list)

    def name(self, of: str) -> str:
        """Name a lock so that no other run, and nobody else, is disturbed."""
        return f"{self.prefix}{of}"

    def crew(self, of: str) -> "SceneCrew":
        """Gather workers around a lock."""
        return SceneCrew(self, of)

    def look(self, of: str) -> holdfast.LockInfo:
        """Show who holds and who waits, as anybody with a client can see it."""
        info = self.client.show(self.name(of))
        self.narrator.line("", standing(info), DIM)
        return info
