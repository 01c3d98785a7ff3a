"""A crew of processes that add to one counter; some of them are killed and started again.

Run as a program of its own (``python -m tests.faults.crew '{…}'``): it forks the workers, so that
starting one is cheap, has no client itself, and prints what happened as JSON.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from holdfast import AsyncClient, Client
from tests.faults.ledger import Ledger, gaps_after_kills
from tests.faults.processes import die_with_parent

NAME = "counter"


class Crew:
    """The workers, by what they are called."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._ledger = Ledger(Path(plan["folder"]))
        self._pids: dict[int, str] = {}
        self.kills: list[tuple[float, int]] = []
        self.failed: list[str] = []

    def start(self, worker: str) -> None:
        """Fork a worker; ``async`` in its name says what it is."""
        pid = os.fork()
        if pid:
            self._pids[pid] = worker
            return
        status = 1
        try:
            die_with_parent()
            work(self._plan, worker)
            status = 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def reap(self) -> bool:
        """Take note of those that have ended; say whether any is left."""
        for pid in tuple(self._pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                worker = self._pids.pop(pid)
                if status:
                    self.failed.append(f"{worker} ended with {status}")
        return bool(self._pids)

    def torment(self, seconds: float, every: float, dice: random.Random) -> None:
        """Kill one after the other, half of the time the one inside, and start it again."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.reap():
            time.sleep(every)
            if not self.reap():
                return
            pid = dice.choice(sorted(self._pids))
            entries = self._ledger.entries()[-1:]
            if dice.random() < 0.5 and entries and entries[0].pid in self._pids:
                pid = entries[0].pid
            os.kill(pid, signal.SIGKILL)
            self.kills.append((time.monotonic(), pid))
            os.waitpid(pid, 0)
            self.start(self._pids.pop(pid))

    def report(self) -> dict[str, Any]:
        """Say what happened."""
        entries = self._ledger.entries()
        return {
            **self._ledger.read(),
            "kills": len(self.kills),
            "gaps": gaps_after_kills(entries, self.kills),
            "violations": [entry for entry in entries if entry.what.startswith("violation")],
            "failed": self.failed,
        }


def work(plan: dict[str, Any], worker: str) -> None:
    """Do what is left of the worker's share."""
    ledger = Ledger(Path(plan["folder"]))
    done = ledger.done_by(worker)

    def count() -> None:
        with Client(plan["url"], holder=worker) as client:
            for number in range(done, plan["share"]):
                with client.lock(NAME) as lease:
                    ledger.add_one(worker, number, lease.token, plan["pause"])

    async def count_async() -> None:
        async with AsyncClient(plan["url"], holder=worker) as client:
            for number in range(done, plan["share"]):
                async with client.lock(NAME) as lease:
                    ledger.add_one(worker, number, lease.token, plan["pause"])

    if "async" in worker:
        asyncio.run(count_async())
    else:
        count()


def main() -> None:
    """Run the plan."""
    plan = json.loads(sys.argv[1])
    crew = Crew(plan)
    for worker in plan["workers"]:
        crew.start(worker)
    crew.torment(plan["torment_for"], 0.1, random.Random(plan["seed"]))
    give_up_at = time.monotonic() + plan["drain_for"]
    while crew.reap() and time.monotonic() < give_up_at:
        time.sleep(0.01)
    print(json.dumps(crew.report()))  # noqa: T201 - this is how a program reports


if __name__ == "__main__":
    main()
