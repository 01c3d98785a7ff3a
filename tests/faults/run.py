"""Fault runs of any length: ``python -m tests.faults.run --ground redis --for 10m --seed 7``.

Prints what is done while it is done, then the numbers; ends with 1 if anything was not as it should
be, and then keeps the histories.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from holdfast.durations import seconds
from tests.faults.campaign import Campaign, say
from tests.faults.grounds.every import GROUNDS


def main() -> int:
    """Make the runs that were asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.run", description=__doc__)
    parser.add_argument("--ground", choices=[*GROUNDS, "all"], default="all")
    parser.add_argument("--for", dest="length", default="1m", metavar="DURATION")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", action="append", default=[], metavar="FAULT")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the histories there")
    given = parser.parse_args()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    names = list(GROUNDS) if given.ground == "all" else [given.ground]
    return max([one(name, given, seed) for name in names])


def one(name: str, given: argparse.Namespace, seed: int) -> int:
    """Make one run; give the exit code."""
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"holdfast-faults-{name}-", dir=given.keep))
    with GROUNDS[name]() as ground:
        campaign = Campaign(
            ground=ground,
            folder=folder,
            seconds=seconds(given.length, "--for"),
            seed=seed,
            only=given.only,
        )
        outcome = campaign.run()
    problems = outcome.problems()
    say("\n".join([outcome.summary(), *problems, ""]))
    if problems:
        say(f"the histories are in {folder}\n")
    elif given.keep is None:
        shutil.rmtree(folder)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
