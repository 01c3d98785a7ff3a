"""Workers that use locks in every way people do, and write down all of it.

A ``Crew`` starts them as real processes against one backend, kills, pauses and replaces them, and
collects their histories, which ``holdfast.testing.history`` judges. What the workers do follows
from a ``Plan`` and its seed; what happens to them is for the caller to decide.
"""

from __future__ import annotations

from holdfast.testing.workload.crew import Crew, Worker
from holdfast.testing.workload.plan import MODES, Habits, Mode, Plan
from holdfast.testing.workload.resource import Refused, Resource

__all__ = ["MODES", "Crew", "Habits", "Mode", "Plan", "Refused", "Resource", "Worker"]
