"""What a worker writes down of several names that it asks for at once."""

import json
from pathlib import Path

from holdfast.observe import events
from holdfast.testing.history.record import Recorder
from holdfast.testing.workload.company import CompanyNotes
from holdfast.testing.workload.turn import Turn

TURN = Turn(
    name="a",
    wait=None,
    ttl=1.0,
    renew=True,
    max_hold=None,
    steps=(),
    pause=0.0,
    errs=False,
    breaks=False,
    forces=False,
    cancel_after=None,
    rest=0.0,
)


def test_a_name_that_is_granted_twice_was_lost_in_between(tmp_path: Path) -> None:
    """It was broken before its body could start, and had again, by the same call."""
    recorder = Recorder(tmp_path, "worker")
    notes = CompanyNotes(recorder, TURN)
    notes.hear(events.Claimed("a", None))
    for token in (7, 9):
        notes.hear(events.Granted("a", token, 0.1))
    notes.hear(events.Released("a", 9, 0.1))
    recorder.close()
    written = [json.loads(line) for line in recorder.path.read_text("utf-8").splitlines()[1:]]
    assert [(one["do"], one["n"]) for one in written] == [
        ("ask", 1),
        ("held", 1),
        ("left", 1),
        ("ask", 2),
        ("held", 2),
        ("left", 2),
    ]
