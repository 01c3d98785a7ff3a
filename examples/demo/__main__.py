"""See holdfast at work: ``make demo``, or ``python -m examples.demo``.

Several real processes share one lock on the embedded default, a SQLite file in the user's state
folder. The exit code is 0 only if everything held that the summary says. ``--unlocked`` counts
without the lock and stops there, which shows that the checks can fail.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence

import holdfast
from examples.demo import counting, killed, paused
from examples.demo.narrator import GREEN, RED, Narrator
from examples.demo.scene import Scene
from examples.demo.verdict import Check


def main() -> int:
    """Play all acts; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--unlocked", action="store_true", help="count without the lock, and fail")
    unlocked = parser.parse_args().unlocked
    os.environ.pop("HOLDFAST_URL", None)  # the demo shows the embedded default, wherever it runs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no worker is left behind
    narrator = Narrator()
    try:
        with holdfast.Client(holder="the demo") as client:
            print(f"holdfast {holdfast.__version__} on {client!r}")
            scene = Scene(client, narrator)
            checks = play_unlocked(scene) if unlocked else play(scene)
            checks.append(scene.leftovers())
    except KeyboardInterrupt:
        return 130
    except holdfast.HoldfastError as error:
        print(f"{narrator.painted(RED, 'FAIL')}  {error.message}")
        return 1
    return summed_up(narrator, checks)


def play(scene: Scene) -> list[Check]:
    """Play every act."""
    counting.play(scene, locked=False)  # for comparison: what comes of this one is not judged
    return [counting.play(scene, locked=True), killed.play(scene), paused.play(scene)]


def play_unlocked(scene: Scene) -> list[Check]:
    """Do without the lock what needs one."""
    return [counting.play(scene, locked=False)]


def summed_up(narrator: Narrator, checks: Sequence[Check]) -> int:
    """Say what held and what did not; give the exit code."""
    narrator.title("Summary")
    for check in checks:
        mark = narrator.painted(GREEN, "ok  ") if check.held else narrator.painted(RED, "FAIL")
        print(f"  {mark}  {check.said}")
    failed = sum(not check.held for check in checks)
    outcome = f"{failed} of {len(checks)} checks failed" if failed else "everything held"
    print(f"{outcome}, in {narrator.elapsed:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
