"""What a rule is: a small class that sees events in the order of time and accuses.

It has a method ``on_<do>`` for each word that it wants to see (``on_gone`` where a file ends), may
look at the weather and the terms, and says in ``finish`` what only the end can show. It must be
sound: it accuses only if no run that keeps the promise could have written these lines. To add one,
write a file in ``rules`` and name the class in ``rules/__init__.py``.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof, Violation
from holdfast.testing.history.weather import Weather

KEPT = 20
"""How many violations of one rule are kept with their proofs; the others are counted."""


class Rule:
    """One promise, and what was seen of it."""

    name: ClassVar[str]
    """One word for reports."""

    words: ClassVar[frozenset[str]] = frozenset()
    """What ``do`` may be on top of the common words, for rules about other primitives."""

    def __init__(self, terms: Terms, weather: Weather) -> None:
        self.terms = terms
        self.weather = weather
        self.judged = 0
        self.found = 0
        self.violations: list[Violation] = []
        self.excused: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.started_at = 0

    def finish(self) -> None:
        """Judge what only the end can show."""

    def accuse(self, what: str, *proofs: Proof | None) -> None:
        """Report a violation and the lines that prove it."""
        self.found += 1
        if len(self.violations) < KEPT:
            lines = tuple(proof for proof in proofs if proof is not None)
            self.violations.append(Violation(self.name, what, lines))

    def clock(self, at: int) -> str:
        """Write a moment for a person: seconds since the first entry."""
        return f"{(at - self.started_at) / SECOND:.6f} s"


def span(length: int) -> str:
    """Write a span of nanoseconds for a person."""
    return f"{length / SECOND:.3f} s"
