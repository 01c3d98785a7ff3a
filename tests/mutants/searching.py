"""Let the simulator look for a violation: ``python -m tests.mutants.searching claims SEEDS``.

``claims`` are the worlds of single names, ``family`` those of everything else. Exits with 1 if it
finds a violation, as pytest does, and names it on a line that begins like pytest's. A crash of the
simulator itself is no finding: that ends with another code.
"""

import sys
import traceback

from holdfast.testing.sim import search
from holdfast.testing.sim.worlds import CLAIMS, FAMILY

WORLDS = {"claims": CLAIMS, "family": FAMILY}


def main(worlds: str, seeds: int) -> int:
    """Search; give the exit code."""
    try:
        finding = search(WORLDS[worlds], range(seeds))
    except Exception:  # noqa: BLE001 - the interpreter's own code for it would be 1
        traceback.print_exc()
        return 3
    if finding is None:
        return 0
    sys.stdout.write(f"FAILED {finding.world}, seed {finding.seed}: {finding.violation}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
