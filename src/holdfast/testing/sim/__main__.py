"""Simulate from a shell: ``python -m holdfast.testing.sim --seeds 10000``.

``--seed K`` runs one seed, ``--world NAME`` (repeatable) only these kinds of worlds; ``--list``
names them. Exits with 1 if an invariant is violated, after telling the shortest history found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from holdfast.testing.sim.search import Finding, Tally, explore
from holdfast.testing.sim.worlds import WORLDS

EVERY = 1000
"""After how many seeds a line says how far it got."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds that were asked for; give the exit code."""
    parser = argparse.ArgumentParser("python -m holdfast.testing.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--world", action="append", choices=[*WORLDS], help="only this kind")
    parser.add_argument("--list", action="store_true", help="name the kinds of worlds")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        for name, draw in WORLDS.items():
            _say(f"{name:10} {(draw.__doc__ or '').strip()}")
        return 0
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    if chosen.seed is not None:
        seeds = range(chosen.seed, chosen.seed + 1)
    return _run(chosen.world or [*WORLDS], seeds)


def _run(worlds: list[str], seeds: range) -> int:
    tally: Tally | None = None
    for tally, finding in explore(worlds, seeds):
        if finding is not None:
            _say(f"{tally}, 1 violation")
            _tell(finding)
            return 1
        if tally.seeds % EVERY == 0 and tally.seeds < len(seeds):
            _say(str(tally))
    _say(f"{tally}, 0 violations")
    return 0


def _tell(finding: Finding) -> None:
    _say(finding.story())


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
