"""What ``import holdfast`` costs a program that may never lock anything, and what it pulls in."""

import subprocess
import sys
from statistics import median

from benchmarks.figures import Aim, Figure, Value
from benchmarks.rounds import interleaved, median_difference
from benchmarks.scale import Scale
from benchmarks.starts import installed, run_for

AIM = Aim("at most", Value(0.030, "s more"))
HEAVY = {"asyncio", "sqlite3", "click", "rich"}
NONE_OF_THEM = Aim("at most", Value(0, "modules"))


def measure(scale: Scale) -> list[Figure]:
    """Measure the import against an interpreter that does nothing, and look at its modules."""
    with installed() as env:
        times = interleaved(
            {
                "ours": lambda: run_for([sys.executable, "-c", "import holdfast"], env),
                "theirs": lambda: run_for([sys.executable, "-c", "pass"], env),
            },
            scale.starts,
        )
    pulled_in = Value(len(HEAVY & _loaded()), "modules")
    return [
        Figure(
            what="import holdfast",
            ours=Value(median(times["ours"]), "s"),
            against="python -c pass",
            theirs=Value(median(times["theirs"]), "s"),
            result=Value(median_difference(times["ours"], times["theirs"]), "s more"),
            aim=AIM,
        ),
        Figure(
            what=f"import holdfast: {', '.join(sorted(HEAVY))}",
            ours=pulled_in,
            result=pulled_in,
            aim=NONE_OF_THEM,
        ),
    ]


def _loaded() -> set[str]:
    command = [sys.executable, "-c", "import sys, holdfast; print(*sys.modules)"]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
