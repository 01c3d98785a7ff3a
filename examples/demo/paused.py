"""Act three: the holder is paused beyond its lease, a rival gets in, and the paused one is told.

No lock can stop a process that sleeps; what matters is that it stops when it wakes, and that what
it may still write carries a smaller token than the rival's.
"""

from examples.demo import report, verdict
from examples.demo.narrator import YELLOW
from examples.demo.scene import Scene

TTL = 1.5
HOLD = 20.0
RIVAL_HOLDS = 1.0


def play(scene: Scene) -> verdict.Check:
    """Pause the holder until a rival is in, then let it go on."""
    scene.narrator.title(f"the holder is paused for longer than its lease of {TTL:g} s")
    loss = left = None
    told_after = 0.0
    with scene.crew("paused") as crew:
        crew.start("dee", "hold", "--seconds", str(HOLD), "--ttl", str(TTL))
        scene.await_report(crew, "dee", report.HOLDS)
        crew.start("eve", "hold", "--seconds", str(RIVAL_HOLDS), "--ttl", str(TTL))
        scene.await_waiters(crew, "paused", 1)
        paused_at = crew.pause("dee")
        scene.narrator.line("dee", "is paused with SIGSTOP", YELLOW)
        rival = scene.await_report(crew, "eve", report.HOLDS)
        resumed_at = crew.resume("dee")
        if rival is not None:
            scene.narrator.line("eve", f"got in {rival.at - paused_at:.2f} s after the pause began")
            scene.narrator.line("dee", "goes on (SIGCONT) and looks at its lease", YELLOW)
            loss = scene.await_report(crew, "dee", report.LOST)
        if loss is not None:
            told_after = loss.at - resumed_at
            left = scene.await_report(crew, "eve", report.LEFT)
    return verdict.told(
        verdict.Pause(
            paused="dee",
            rival="eve",
            lost_token=loss.token if loss else 0,
            told_after=told_after,
            rival_token=rival.token if rival else 0,
            rival_undisturbed=left is not None,
        ),
    )
