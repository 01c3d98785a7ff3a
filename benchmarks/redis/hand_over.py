"""One gives back, the next in line gets in: how long that takes, what it costs, who is served.

Two processes contend for one name, with few waiters and with many, and hold it for a millisecond.
The gap is taken from just before the release to the next holder's first line. It is set against
the least that could be: the hop of a published word between two processes, in the same rounds.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from statistics import median

from benchmarks.figures import Aim, Figure, Value
from benchmarks.redis.amounts import Amount
from benchmarks.redis.contest import Play, two_processes
from benchmarks.redis.counting import Seen
from benchmarks.redis.peers import PEERS, PYTHON_REDIS_LOCK, REDIS_PY
from benchmarks.redis.scale import Scale
from benchmarks.redis.showing import Contest, Record
from benchmarks.redis.sides import HOP, SIDES, TASKS, THREADS
from benchmarks.rounds import interleaved, median_ratio, percentile
from tests.servers.redis import RedisServer

GAP = Aim("at most", Amount(2.5, "hops"))
STEADY = Aim("at least", Value(0.9, "times"))
REQUESTS = Aim("at most", Amount(2.1, "per grant"))
FAIR = Aim("at least", Amount(0.99, "index"))

ENOUGH, TRIES = 2, 10
"""How many hand-overs a contest must have shown, and how often it is tried."""

Records = Mapping[tuple[str, int], Record]


def measure(scale: Scale) -> list[Figure]:
    """Let holdfast, the hop and the peers contend in turn."""
    few, many = scale.waiters[0], scale.waiters[-1]
    rivals = [peer for peer in (REDIS_PY, PYTHON_REDIS_LOCK) if peer in PEERS]
    contests = [
        *((kind, waiters) for kind in (THREADS, TASKS) for waiters in scale.waiters),
        (HOP, 2),
        *((peer, many) for peer in rivals),
    ]
    records: Records = {contest: Record() for contest in contests}
    with RedisServer() as server, ExitStack() as stack:
        players = {
            kind: stack.enter_context(two_processes(SIDES[kind], server.port))
            for kind in dict.fromkeys(kind for kind, _ in contests)
        }

        def contest(kind: str, waiters: int) -> Callable[[], float]:
            record = records[kind, waiters]
            sent = ("set",) if kind in rivals else ()  # ours may be a script's own
            play = players[kind]
            shows = turns_of if kind in rivals else gaps_between
            seconds = scale.contest_for
            return lambda: contested(server, play, record, waiters, seconds, shows, sent)

        turns = {f"{kind}, {waiters}": contest(kind, waiters) for kind, waiters in contests}
        interleaved(turns, scale.contest_rounds)
    found: list[Figure] = []
    for kind in (THREADS, TASKS):
        for waiters in scale.waiters:
            found += gaps_of(records, kind, waiters)
        found += _at_many(records, kind, few, many)
        found += [_against(records, kind, peer, many) for peer in rivals]
    return found


def gaps_between(contest: Contest) -> int:
    """Count the hand-overs from one process to the other: the gaps that are measured."""
    return len(contest.gaps)


def turns_of(contest: Contest) -> int:
    """Count all turns: an unfair rival may leave one process out of a short contest."""
    return contest.turns.total()


def contested(
    server: RedisServer,
    play: Play,
    record: Record,
    waiters: int,
    seconds: float,
    shows: Callable[[Contest], int] = gaps_between,
    sent: tuple[str, ...] = (),
) -> float:
    """Let one contest happen, and put it down; give its hand-overs a second."""
    for _ in range(TRIES):
        before = Seen.by(server, *sent)
        plan, stays = play(waiters, seconds)
        rate = record.add(plan, stays, Seen.by(server, *sent).since(before))
        if shows(record.contests[-1]) >= ENOUGH:
            return rate
        record.contests.pop()  # the machine stood still for most of that short time
    raise RuntimeError(f"{TRIES} contests, and next to nobody was handed anything")


def gaps_of(records: Records, kind: str, waiters: int, typical: Aim = GAP) -> list[Figure]:
    """Give how long hand-overs took, usually and at worst, against the hop of the same rounds."""
    ours, hops = records[kind, waiters].measured(), records[HOP, 2].measured()
    figures = []
    for percent, aim in ((50, typical), (99, None)):
        our_gap, their_gap = percentile(ours.all_gaps, percent), percentile(hops.all_gaps, percent)
        ratio = our_gap / their_gap
        if percent == 50:
            ratio = median_ratio(ours.typical, hops.typical)
        figures.append(
            Figure(
                what=f"hand-over, {waiters} {kind}, p{percent}",
                ours=Value(our_gap, "s"),
                against=HOP,
                theirs=Value(their_gap, "s"),
                result=Amount(ratio, "hops"),
                aim=aim,
            )
        )
    return figures


def _at_many(records: Records, kind: str, few: int, many: int) -> list[Figure]:
    at_few, at_many = records[kind, few].measured(), records[kind, many].measured()
    requests = Amount(median(at_many.requests), "per grant")
    reads = Amount(median(at_many.reads), "per grant")
    fairness = Amount(at_many.fairness(many), "index")
    return [
        Figure(
            what=f"hand-overs, {many} {kind}",
            ours=Value(median(at_many.rates), "cycles/s"),
            against=f"{few} {kind}",
            theirs=Value(median(at_few.rates), "cycles/s"),
            result=Value(median_ratio(at_many.rates, at_few.rates), "times"),
            aim=STEADY,
        ),
        Figure(
            what=f"requests, {many} {kind}",
            ours=requests,
            result=requests,
            aim=REQUESTS,
        ),
        # A command without weight that goes ahead of a release (decision 0037) is no request above,
        # but would be one here if it had to be read by itself.
        Figure(what=f"reads of the server, {many} {kind}", ours=reads, result=reads, aim=REQUESTS),
        Figure(what=f"Jain's index, {many} {kind}", ours=fairness, result=fairness, aim=FAIR),
    ]


def _against(records: Records, kind: str, peer: str, waiters: int) -> Figure:
    ours, theirs = records[kind, waiters].measured(), records[peer, waiters].measured()
    shown = f"{theirs.fairness(waiters):.2f} Jain, {median(theirs.requests):.1f} requests"
    return Figure(
        what=f"hand-overs, {waiters} {kind}",
        ours=Value(median(ours.rates), "cycles/s"),
        against=f"{peer} ({shown})",
        theirs=Value(median(theirs.rates), "cycles/s"),
        result=Value(median_ratio(ours.rates, theirs.rates), "times"),
    )
