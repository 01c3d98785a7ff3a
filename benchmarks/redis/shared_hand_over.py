"""The hand-over of everything that is held but is no lock: the lead, a permit, the right to write.

As ``hand_over``. A resignation may take five hops. What is shared is passed on like a lock, so
it is set against the lock of the same rounds. Of several permits, those that are given back are
put beside those who come in, in the order of time: who made room for whom only the server knows.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.amounts import Amount
from benchmarks.redis.contest import two_processes
from benchmarks.redis.hand_over import Records, contested, gaps_of
from benchmarks.redis.scale import Scale
from benchmarks.redis.showing import Record
from benchmarks.redis.sides import (
    HOP,
    LEAD,
    PERMITS,
    RWLOCK,
    SEMAPHORE,
    SEVERAL,
    SIDES,
    TASKS,
    THREADS,
)
from benchmarks.rounds import interleaved, median_ratio, percentile
from tests.servers.redis import RedisServer

RESIGNED = Aim("at most", Amount(5.0, "hops"))
FEW_ROUNDS, SHORTER = 3, 0.4
LIKE_A_LOCK = Aim("at most", Amount(1.25, "of the lock's"))


def measure_elections(scale: Scale) -> list[Figure]:
    """Resign, and be followed by whoever stands by."""
    sides, crowds = [f"{by}, {LEAD}" for by in (THREADS, TASKS)], scale.waiters[:2]
    contests = [*((side, waiters) for side in sides for waiters in crowds), (HOP, 2)]
    records = _played(contests, scale.contest_rounds, scale.contest_for)
    return [
        figure
        for side in sides
        for waiters in crowds
        for figure in gaps_of(records, side, waiters, RESIGNED)
    ]


def measure_shares(scale: Scale) -> list[Figure]:
    """Pass on the only permit of a semaphore, and the right to write."""
    crowd = scale.waiters[1]
    kinds = ("", f", {SEMAPHORE}", f", {RWLOCK}")
    contests = [(f"{by}{kind}", crowd) for by in (THREADS, TASKS) for kind in kinds]
    records = _played(contests, scale.contest_rounds, scale.contest_for)
    return [
        _against_the_lock(records, by, kind, crowd) for by in (THREADS, TASKS) for kind in kinds[1:]
    ]


def measure_permits(scale: Scale) -> list[Figure]:
    """Pass on the permits of a semaphore that has several; short, for it comes on top."""
    crowds, kind = scale.waiters[1:], f", {SEVERAL}"
    sides = [side for by in (THREADS, TASKS) for side in (by, f"{by}{kind}")]
    contests = [(side, crowd) for crowd in crowds for side in sides]
    rounds, seconds = min(scale.contest_rounds, FEW_ROUNDS), min(scale.contest_for, SHORTER)
    records = _played(contests, rounds, seconds)
    return [
        _against_the_lock(records, by, kind, crowd) for by in (THREADS, TASKS) for crowd in crowds
    ]


def _played(contests: Sequence[tuple[str, int]], rounds: int, seconds: float) -> Records:
    records: Records = {contest: Record() for contest in contests}
    with RedisServer() as server, ExitStack() as stack:
        players = {
            side: stack.enter_context(two_processes(SIDES[side], server.port, _permits(side)))
            for side in dict.fromkeys(side for side, _ in contests)
        }

        def contest(side: str, waiters: int) -> Callable[[], float]:
            record, play = records[side, waiters], players[side]
            return lambda: contested(server, play, record, waiters, seconds)

        turns = {f"{side}, {waiters}": contest(side, waiters) for side, waiters in contests}
        interleaved(turns, rounds)
    return records


def _permits(side: str) -> int:
    return PERMITS if side.endswith(SEVERAL) else 1


def _against_the_lock(records: Records, by: str, kind: str, waiters: int) -> Figure:
    ours, lock = records[f"{by}{kind}", waiters].measured(), records[by, waiters].measured()
    return Figure(
        what=f"hand-over, {waiters} {by}{kind}, p50",
        ours=Value(percentile(ours.all_gaps, 50), "s"),
        against=f"a lock, {waiters} {by}",
        theirs=Value(percentile(lock.all_gaps, 50), "s"),
        result=Amount(median_ratio(ours.typical, lock.typical), "of the lock's"),
        aim=LIKE_A_LOCK,
    )
