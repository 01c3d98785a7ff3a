"""What the checker says: violations with the lines that prove them, and how much was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple


class Proof(NamedTuple):
    """One line of one file."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"

    def text(self) -> str:
        """Read the line itself."""
        with self.path.open(encoding="utf-8") as lines:
            return next(islice(lines, self.line - 1, None), "").strip()


class Violation(NamedTuple):
    """A promise that was not kept: which, how, and where it is written."""

    rule: str
    what: str
    proofs: tuple[Proof, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.rule}: {self.what}", *self.quotes()])

    def quotes(self) -> Iterator[str]:
        """Quote the lines that prove it."""
        for proof in self.proofs:
            yield f"    {proof}  {proof.text()}"

    def as_json(self) -> dict[str, Any]:
        """Give it as the report has it."""
        return {
            "rule": self.rule,
            "what": self.what,
            "lines": [
                {"file": proof.path.name, "line": proof.line, "text": proof.text()}
                for proof in self.proofs
            ],
        }


@dataclass(slots=True)
class Verdict:
    """The outcome of one check.

    ``found`` counts all violations, ``violations`` keeps the first ones of each rule. ``judged``
    says how often each rule had something to decide: a rule that judged nothing proves nothing.
    ``excused`` counts what a rule did not judge and why, ``notes`` what is worth knowing and wrong
    in nobody's eyes. ``granted`` counts leases by the name that was granted.
    """

    operations: int = 0
    claims: int = 0
    workers: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    judged: dict[str, int] = field(default_factory=dict)
    excused: dict[str, Counter[str]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    granted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no rule was broken."""
        return not self.found

    def __str__(self) -> str:
        return "\n".join([self.summary(), *map(str, self.violations)])

    def summary(self) -> str:
        """Say it in one sentence."""
        number, faults = self.found.total(), self.faults.total()
        return (
            f"{number:,} violation{'' if number == 1 else 's'} in {self.operations:,} operations"
            f" under {faults:,} fault{'' if faults == 1 else 's'}"
        )

    def as_json(self) -> dict[str, Any]:
        """Give it as the report has it."""
        return {
            "violations": self.found.total(),
            "operations": self.operations,
            "claims": self.claims,
            "workers": self.workers,
            "seconds": round(self.seconds, 3),
            "faults": dict(self.faults),
            "judged": self.judged,
            "excused": {rule: dict(why) for rule, why in self.excused.items() if why},
            "notes": dict(self.notes),
            "granted": dict(sorted(self.granted.items())),
            "found": [violation.as_json() for violation in self.violations],
        }
