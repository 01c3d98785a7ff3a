"""A crew around one unprotected counter; some of its workers are killed and started again.

Reading, adding and writing back are three steps that nothing but the lock keeps together. The
counter's own file tells in which order it was written: no step may be missing in it. Run as a
program of its own (``python -m tests.faults.counting '{…}'``): it forks the workers, so that
starting one is cheap, has no client itself, and prints what happened as JSON.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

from holdfast.testing.history.form import KINDS
from holdfast.testing.history.read import History
from holdfast.testing.history.terms import Terms
from holdfast.testing.workload.crew import Crew, Worker
from holdfast.testing.workload.plan import Habits, Plan

NAME = "counter"
CALM = Habits(**dict.fromkeys(Habits.__slots__, 0.0))


class Counted(NamedTuple):
    """What became of the counter."""

    value: int
    writes: int
    token: int


def counted(folder: Path) -> Counted:
    """Read the counter, and how often it was written."""
    [header, *lines] = (folder / "resource-unfenced-0.jsonl").read_text().splitlines()
    assert json.loads(header)["role"] == "resource"
    last = json.loads(lines[-1])
    return Counted(last["value"], len(lines), last["token"])


def torment(crew: Crew, seconds: float, every: float, dice: random.Random) -> None:
    """Kill one after the other, half of the time the one inside, and start it again."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(every)
        living = [worker for worker in crew.workers if worker.alive]
        inside = [worker for worker in living if is_inside(worker, crew.folder)]
        crew.replace(dice.choice(inside if inside and dice.random() < 0.5 else living))


def is_inside(worker: Worker, folder: Path) -> bool:
    """Whether the last word of a worker was one of somebody who holds."""
    words = [path.read_bytes().rpartition(b'"do":"')[2] for path in folder.glob(f"{worker.name}.*")]
    return any(word.startswith((b"held", b"checked")) for word in words)


def gaps_after_kills(folder: Path) -> list[float]:
    """For each kill that hit the one inside, say how long it took until the next got in."""
    history = History.of(folder, KINDS)
    inside, killed_at, gaps = 0, 0, []
    for at, number, _, fields in history:
        pid = history.sources[number].pid
        match fields["do"]:
            case "held":
                if killed_at:
                    gaps.append((at - killed_at) / 1e9)
                inside, killed_at = pid, 0
            case "left":
                inside = 0 if inside == pid else inside
            case "fault" if inside and inside in fields["pids"]:
                inside, killed_at = 0, at
            case _:
                pass
    return gaps


def main() -> None:
    """Run the plan."""
    given = json.loads(sys.argv[1])
    folder = Path(given["folder"])
    plan = Plan(
        url=given["url"],
        folder=str(folder),
        names=(NAME,),
        habits=CALM,
        ttl=10.0,
        actors=1,
        rest=0.0,
        hold=given["hold"],
        turns=given["turns"],
        seed=given["seed"],
    )
    with Crew(plan, forking=True) as crew:
        for mode in given["workers"]:
            crew.start(mode)
        torment(crew, given["torment_for"], 0.1, random.Random(given["seed"]))
        give_up_at = time.monotonic() + given["drain_for"]
        while given["turns"] is None and counted(folder).writes < given["enough"]:
            if time.monotonic() > give_up_at:
                break
            time.sleep(0.01)
        while given["turns"] is not None and any(worker.alive for worker in crew.workers):
            time.sleep(0.01)
        stuck = [worker.name for worker in crew.send_home(give_up_at - time.monotonic())]
        verdict = crew.judge(Terms(waiting_limit=30, idle_limit=5, recovery=3))
        report = {
            **counted(folder)._asdict(),
            "verdict": verdict.as_json(),
            "violations": str(verdict),
            "gaps": gaps_after_kills(folder),
            "failed": stuck + [worker.name for worker in crew.failed()],
        }
    print(json.dumps(report))  # noqa: T201 - this is how a program reports


if __name__ == "__main__":
    main()
