"""What came of a fault run: numbers for people, and everything that was not as it should be."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.testing.history.form import KINDS
from holdfast.testing.history.read import History
from holdfast.testing.history.rules import RULES
from holdfast.testing.history.verdict import Verdict
from holdfast.testing.workload.crew import Worker

FLOOR = 15
"""How many operations a second, faults included, there must be at least: else nobody worked."""

JUDGED = ("exclusion", "succession", "tokens", "fencing", "order", "belief", "waiting", "endings")
"""Rules that must have had something to decide in any run."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The verdict on the histories, and what they cannot tell."""

    ground: str
    seed: int
    torments: Counter[str]
    missing: list[str]
    left_out: list[str]
    verdict: Verdict
    resumed: Counter[str]
    """How often each name was taken after the last fault."""

    stuck: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    left_held: list[str] = field(default_factory=list)
    queue: bool = True
    """Whether there is a line whose order can be judged."""
    expected: tuple[str, ...] = JUDGED
    """Rules that must have had something to decide."""

    def problems(self) -> list[str]:
        """Name everything that is not as it should be; the violations are the last."""
        verdict = self.verdict
        found = [f"{torment} never happened" for torment in self.missing]
        if verdict.operations < FLOOR * verdict.seconds:
            rate = verdict.operations / verdict.seconds
            found.append(f"only {rate:.1f} operations a second: nobody worked")
        found += [
            f"nothing was judged by {rule}"
            for rule in self.expected
            if not verdict.judged.get(rule) and (self.queue or rule != "order")
        ]
        found += [
            f"{name!r} was never taken after the last fault"
            for name, count in self.resumed.items()
            if not count
        ]
        if self.resumed.total() < FLOOR:
            found.append(f"locks were taken only {self.resumed.total()} times after the last fault")
        found += [f"still held when all was over: {what}" for what in self.left_held]
        found += [f"did not come home: {who}" for who in self.stuck]
        found += [f"ended with an error: {who}" for who in self.failed]
        return found + [str(violation) for violation in verdict.violations]

    def summary(self) -> str:
        """Put the numbers into a few lines."""
        verdict = self.verdict
        torments, mishaps = self.torments, verdict.faults
        lines = [
            f"{self.ground}: {verdict.summary()} in {verdict.seconds:.0f} s (seed {self.seed})",
            f"  faults: {_listed(torments)}",
            f"  by the crew's record: {_listed(mishaps)}",
            f"  judged: {_listed(Counter(verdict.judged))}",
            *(f"  not judged by {rule}: {_listed(why)}" for rule, why in verdict.excused.items()),
            f"  taken after the last fault: {_listed(self.resumed)}",
            *(f"  {note}: {count:,}" for note, count in verdict.notes.items()),
            *(f"  left out: {what}" for what in self.left_out),
        ]
        return "\n".join(line for line in lines if not line.endswith(": "))


def resumed(folder: Path) -> Counter[str]:
    """Count how often each name was taken since the last fault was over."""
    names: dict[tuple[int, int], str] = {}
    taken: Counter[str] = Counter()
    kinds = KINDS.union(*(rule.words for rule in RULES))
    for _, number, _, fields in History.of(folder, kinds):
        match fields["do"]:
            case "ask":
                names[number, fields["n"]] = fields["name"]
            case "held":
                taken[names.pop((number, fields["n"]))] += 1
            case "healed":
                taken = Counter(dict.fromkeys(taken, 0))
            case _:
                pass
    return taken


def words(worker: Worker) -> str:
    """Give what a worker has said on its stderr."""
    return worker.log.read_text("utf-8", "replace")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.most_common())
