"""Fifty callers of one once key, in ten processes: one run, one result; also if the first dies."""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client
from holdfast.testing.watching import eventually
from tests.faults.processes import Program
from tests.faults.test_slots import BACKENDS

PROCESSES, CALLERS = 10, 5


class Crowd:
    """Ten processes that ask for the same key."""

    def __init__(self, url: str, folder: Path, stack: ExitStack) -> None:
        self.url = url
        self.key = f"crowd:{folder}"
        self.runs_file = folder / "runs"
        plan = {"url": url, "key": self.key, "runs": str(self.runs_file), "takes": 0.3}
        self.members = [
            stack.enter_context(Program("once_crowd", callers=CALLERS, ttl=4.0, **plan))
            for _ in range(PROCESSES)
        ]

    def workers(self) -> list[int]:
        """Give who has worked, in their order."""
        if not self.runs_file.exists():
            return []
        return [int(line) for line in self.runs_file.read_text("utf-8").splitlines()]

    def results(self, but: int = 0) -> list[Any]:
        """Give what everybody got, apart from those of one process."""
        alive = [member for member in self.members if member.pid != but]
        return [member.hear(60)["result"] for member in alive for _ in range(CALLERS)]

    def stored(self) -> Any:
        """Give what is stored now."""
        with Client(self.url) as client, client.once(self.key, wait=0) as visit:
            visit.give_up()
            return visit.result


@pytest.mark.timeout(90)
@pytest.mark.parametrize("backend", BACKENDS)
def test_fifty_callers_one_run(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """The function ran once, and everybody has its result."""
    with ExitStack() as stack:
        crowd = Crowd(backend(tmp_path), tmp_path, stack)
        results = crowd.results()
        assert len(crowd.workers()) == 1
        assert len(results) == PROCESSES * CALLERS
        assert all(result == results[0] for result in results)
        assert crowd.stored() == results[0]


@pytest.mark.timeout(90)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_is_killed(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """Kill -9 in the middle of the work: one other does it again, and one result is stored."""
    with ExitStack() as stack:
        crowd = Crowd(backend(tmp_path), tmp_path, stack)
        [first] = eventually(crowd.workers, 60, "somebody at work")
        os.kill(first, signal.SIGKILL)
        results = crowd.results(but=first)
        assert len(crowd.workers()) == 2
        assert first not in {result["pid"] for result in results}
        assert all(result == results[0] for result in results)
        assert crowd.stored() == results[0]
