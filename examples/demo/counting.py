"""Act one: several processes do the same job, and the counter they share is right."""

import tempfile
import time
from pathlib import Path

from examples.demo import report, verdict
from examples.demo.crew import Crew
from examples.demo.narrator import DIM, standing
from examples.demo.scene import Scene

WORKERS = ("ann", "bob", "cid", "dee")
TIMES = 25
LOOK_EVERY = 0.2
LIMIT = 15.0


def play(scene: Scene, *, locked: bool) -> verdict.Check:
    """Let the workers count, with or without the lock, and look at what came of it."""
    each = f"{len(WORKERS)} processes add one to a file, {TIMES} times each"
    scene.narrator.title(f"{each}, {'under one lock' if locked else 'without a lock'}")
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        counter = Path(folder) / "counter"
        counter.write_text("00000")
        with scene.crew("counter") as crew:
            job = ["count", "--counter", str(counter), "--times", str(TIMES)]
            for who in WORKERS:
                crew.start(who, *job, *([] if locked else ["--unlocked"]))
            _watch(scene, crew, counter, locked=locked)
        check = verdict.counted(len(WORKERS), TIMES, int(counter.read_text()))
    scene.narrator.line("", check.said)
    return check


def _watch(scene: Scene, crew: Crew, counter: Path, *, locked: bool) -> None:
    """Show live who holds and who waits, until everybody is done."""
    working = set(WORKERS)
    give_up_at = time.monotonic() + LIMIT
    look_at = time.monotonic()
    while working and time.monotonic() < give_up_at:
        told = crew.hear(look_at)
        if told is None:
            look_at = time.monotonic() + LOOK_EVERY
            info, found = scene.client.show(scene.name("counter")), int(counter.read_text())
            if found:
                who_is_in = standing(info) if locked else "everybody reads and writes"
                scene.narrator.line(f"at {found}", who_is_in, DIM)
        elif told.what == report.GONE:
            working.discard(told.who)
        else:
            scene.narrator.retell(told)
