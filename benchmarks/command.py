"""What it costs to put ``holdfast run NAME --`` before a command, on top of starting Python."""

import sys
from pathlib import Path
from statistics import median

from benchmarks.figures import Aim, Figure, Value
from benchmarks.rounds import interleaved, median_difference
from benchmarks.scale import Scale
from benchmarks.starts import installed, run_for

AIM = Aim("at most", Value(0.15, "s more"))


def measure(scale: Scale) -> list[Figure]:
    """Measure a command that does nothing under a lock against a Python that does nothing."""
    holdfast = str(Path(sys.executable).with_name("holdfast"))
    with installed() as env:
        times = interleaved(
            {
                "ours": lambda: run_for([holdfast, "run", "bench", "--", "true"], env),
                "theirs": lambda: run_for([sys.executable, "-c", "pass"], env),
            },
            scale.starts,
        )
    return [
        Figure(
            what="holdfast run bench -- true",
            ours=Value(median(times["ours"]), "s"),
            against="python -c pass",
            theirs=Value(median(times["theirs"]), "s"),
            result=Value(median_difference(times["ours"], times["theirs"]), "s more"),
            aim=AIM,
        )
    ]
