"""Take and give back, one thread, one name, nobody else: against the same two transactions bare."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import holdfast
from benchmarks import bare
from benchmarks.figures import Aim, Figure, Value
from benchmarks.rounds import Samples, interleaved, median_ratio, per_second
from benchmarks.scale import Scale

AIM = Aim("at least", Value(0.6, "times"))

REUSED = "sqlite lock cycle, one lock object"
FRESH = "sqlite lock cycle, a new object each"
BARE = "begin, read, write, commit"
REPEATED = "holdfast's own statements"
MINIMAL = "insert a row, delete it"


def measure(scale: Scale) -> list[Figure]:
    """Measure both ways of using a lock against the pairs of transactions."""
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        holdfast.Client(f"sqlite:///{folder}/ours.db") as client,
    ):
        lock = client.lock("bench")

        def reused() -> None:
            with lock:
                pass

        def fresh() -> None:
            with client.lock("bench"):
                pass

        works = {
            REUSED: reused,
            FRESH: fresh,
            BARE: bare.bare_pair(bare.overhear(Path(folder) / "bare.db")),
            REPEATED: bare.repeated_pair(bare.overhear(Path(folder) / "repeated.db")),
            MINIMAL: bare.minimal_pair(Path(folder) / "minimal.db"),
        }
        rivals = {name: _rate(work, scale.turn_for) for name, work in works.items()}
        rates = interleaved(rivals, scale.rounds)
    return [
        _figure(rates, REUSED, BARE, AIM),
        _figure(rates, FRESH, BARE, AIM),
        _figure(rates, REUSED, REPEATED, None),
        _figure(rates, REUSED, MINIMAL, None),
    ]


def _rate(work: Callable[[], None], seconds: float) -> Callable[[], float]:
    return lambda: per_second(work, seconds)


def _figure(rates: Samples, ours: str, theirs: str, aim: Aim | None) -> Figure:
    return Figure(
        what=ours,
        ours=Value(median(rates[ours]), "cycles/s"),
        against=theirs,
        theirs=Value(median(rates[theirs]), "cycles/s"),
        result=Value(median_ratio(rates[ours], rates[theirs]), "times"),
        aim=aim,
    )
