"""Stand for election and lead until killed; write down every moment of believing in it."""

import time
from pathlib import Path

from holdfast import Client
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.record import Recorder
from tests.faults.processes import plan, report

CHECK_EVERY = 0.02

if __name__ == "__main__":
    given = plan()
    recorder = Recorder(Path(given["folder"]), f"candidate-{given['number']}")
    with Client(given["url"], holder=recorder.worker) as client:
        claim = {"n": recorder.claim()}
        recorder.note("ask", name=given["name"], ttl=given["ttl"], wait=None, **claim)
        with client.lead(given["name"], ttl=given["ttl"]) as lease:
            since = recorder.note("held", token=lease.token, **claim)
            told = False
            while True:
                at = now_ns()
                lease.check()
                recorder.note("checked", at=at, **claim)
                if not told:
                    report(token=lease.token, at=since)
                    told = True
                time.sleep(CHECK_EVERY)
