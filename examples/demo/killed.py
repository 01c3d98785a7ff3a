"""Act two: the holder is killed -9, and the lock passes on long before its lease would have ended.

The kernel knows at once that the process is gone; the next in line asks it about once a second.
"""

from examples.demo import report, verdict
from examples.demo.narrator import RED
from examples.demo.scene import Scene

TTL = 10.0
LONG, SHORT = 20.0, 0.3
"""How long the victim means to hold, and how long its heirs do."""


def play(scene: Scene) -> verdict.Check:
    """Kill the holder while two others wait."""
    scene.narrator.title(f"the holder is killed; its lease has up to {TTL:g} s to live")
    after = None
    with scene.crew("killed") as crew:
        for waiting, (who, seconds) in enumerate((("ann", LONG), ("bob", SHORT), ("cid", SHORT))):
            crew.start(who, "hold", "--seconds", str(seconds), "--ttl", str(TTL))
            if waiting == 0:
                scene.await_report(crew, who, report.HOLDS)
            scene.await_waiters(crew, "killed", waiting)
        killed_at = crew.kill("ann")
        scene.narrator.line("ann", "is killed with SIGKILL", RED)
        heir = scene.await_report(crew, "bob", report.HOLDS)
        if heir is not None:
            after = heir.at - killed_at
            scene.narrator.line("bob", f"got in {after:.2f} s after the kill")
            scene.await_report(crew, "cid", report.LEFT)
    return verdict.passed_on(verdict.PassedOn(victim="ann", heir="bob", ttl=TTL, after=after))
