"""What a rival showed in its contests: gaps, hand-overs a second, requests, and who had turns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from benchmarks.redis.contest import Plan, Stay
from benchmarks.redis.counting import Seen


class Contest(NamedTuple):
    """One contest, as it went."""

    gaps: list[float]
    """From one process to the other; those inside one process are left out."""
    rate: float
    requests: float
    reads: float
    """How often the server had to read something, per grant: what leaves together is read once."""
    turns: Counter[int]


@dataclass(frozen=True, slots=True)
class Record:
    """All contests of one rival with so many waiters."""

    contests: list[Contest] = field(default_factory=list)

    def add(self, plan: Plan, stays: Sequence[Stay], seen: Seen) -> float:
        """Take in one contest; give its hand-overs a second."""
        # Of n permits the k-th that is given back lets the (n + k)-th in.
        given_back = sorted(stays, key=lambda stay: stay.left_at)
        passed = list(zip(given_back, stays[plan.permits :], strict=False))
        if any(after.entered_at < before.left_at for before, after in passed):
            raise RuntimeError("more were inside at the same time than may be")
        inside = [stay for stay in stays if stay.entered_at > plan.open_at]
        grants = len(stays) + plan.waiters  # each has a last grant, unrecorded
        contest = Contest(
            gaps=[
                after.entered_at - before.left_at
                for before, after in passed
                if before.left_at > plan.open_at and (before.waiter + after.waiter) % 2
            ],
            rate=len(inside) / (plan.until - plan.open_at),
            requests=seen.requests / grants,
            reads=seen.chunks / grants,
            turns=Counter(stay.waiter for stay in inside),
        )
        self.contests.append(contest)
        return contest.rate

    def measured(self) -> "Record":
        """Leave out the first, which was for warming up."""
        return Record(self.contests[1:])

    @property
    def all_gaps(self) -> list[float]:
        """The gaps of all contests together."""
        return [gap for contest in self.contests for gap in contest.gaps]

    @property
    def typical(self) -> list[float]:
        """The median gap of each contest."""
        return [median(contest.gaps) for contest in self.contests]

    @property
    def rates(self) -> list[float]:
        """The hand-overs a second of each contest."""
        return [contest.rate for contest in self.contests]

    @property
    def requests(self) -> list[float]:
        """The requests per grant of each contest."""
        return [contest.requests for contest in self.contests]

    @property
    def reads(self) -> list[float]:
        """The reads per grant of each contest."""
        return [contest.reads for contest in self.contests]

    def fairness(self, waiters: int) -> float:
        """Give Jain's index: 1 if all had the same number of turns, 1/n if one had them all."""
        had: Counter[int] = Counter()
        for contest in self.contests:
            had.update(contest.turns)
        turns = [had[waiter] for waiter in range(waiters)]
        return sum(turns) ** 2 / (waiters * sum(turn**2 for turn in turns))
