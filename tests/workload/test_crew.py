"""Crews of real processes on every kind of backend: what they write is right, and wrong is seen."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Verdict
from holdfast.testing.watching import eventually
from holdfast.testing.workload.crew import Crew
from holdfast.testing.workload.plan import Habits, Mode, Plan
from tests.cli.shell import alive
from tests.servers.shared import shared_server

TERMS = Terms(waiting_limit=15, idle_limit=6, recovery=4)
CALM = Habits(**dict.fromkeys(Habits.__slots__, 0.0))


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give a backend that several processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'locks.db'}"
    return shared_server().url(quarantine=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder for histories alone."""
    made = tmp_path / "histories"
    made.mkdir()
    return made


def plan_of(url: str, folder: Path, **more: Any) -> Plan:
    """Give a plan with names of its own."""
    prefix = f"crew-{folder.parent.name}"
    return Plan(**{"url": url, "folder": str(folder), "prefix": prefix, "seed": 7, **more})


def judged(crew: Crew, within: float = 12) -> Verdict:
    """Send everybody home, and judge."""
    stuck = crew.send_home(within)
    assert stuck == []
    verdict = crew.judge(TERMS)
    told = "\n".join(worker.log.read_text() for worker in crew.workers)
    assert "Traceback" not in told, told
    assert crew.failed() == []
    return verdict


def operations_of(crew: Crew) -> dict[str, int]:
    """Say how many lines each mode has written."""
    counts: dict[str, int] = {}
    for path in crew.folder.glob("*.jsonl"):
        mode = path.name.partition("-")[0]
        counts[mode] = counts.get(mode, 0) + len(path.read_text().splitlines())
    return counts


FORKING = """
import os, pathlib, sys, time
order = sys.stdin.readline()
child = os.fork()
if not child:
    time.sleep(600)
pathlib.Path(sys.argv[1]).write_text(str(child))
time.sleep(600)
"""


def test_children_do_not_outlive_the_crew(folder: Path) -> None:
    """Whoever was forked by a worker that was killed is ended with the crew, at the latest."""
    told = folder / "child"
    program = (sys.executable, "-c", FORKING, str(told))
    with Crew(plan_of("memory://", folder), program=program) as crew:
        worker = crew.start("sync")
        eventually(lambda: told.exists() and told.read_text() != "", 30, "a child")
        child = int(told.read_text())
        crew.kill(worker)
        assert alive(child)
    eventually(lambda: not alive(child), 10, "its end")


@pytest.mark.timeout(60)
def test_all_kinds_of_workers_together(url: str, folder: Path) -> None:
    """Threads and tasks of several processes do everything they know, and no promise is broken."""
    modes: tuple[Mode, ...] = ("sync", "threads", "async")
    with Crew(plan_of(url, folder, turns=40, actors=2, rest=0.002)) as crew:
        for mode in modes:
            crew.start(mode)
        eventually(lambda: not any(worker.alive for worker in crew.workers), 40, "all turns")
        verdict = judged(crew)
        counts = operations_of(crew)
    assert verdict.ok, str(verdict)
    assert min(counts[mode] for mode in modes) > 100
    assert verdict.claims >= 40 * 5
    for rule in ("exclusion", "succession", "tokens", "fencing", "order", "belief", "waiting"):
        assert verdict.judged[rule] > 20, verdict.judged
    assert verdict.faults["cancellation"] > 2


@pytest.mark.timeout(60)
def test_one_process_in_memory(folder: Path) -> None:
    """Threads and tasks of one process share a space in memory."""
    habits = Habits(forks=0)
    with Crew(plan_of("memory://crew", folder, turns=40, habits=habits)) as crew:
        worker = crew.start("mixed")
        eventually(lambda: not worker.alive, 40, "all turns")
        verdict = judged(crew)
    assert verdict.ok, str(verdict)
    assert verdict.claims >= 40 * 6
    assert verdict.judged["endings"] == 6


@pytest.mark.timeout(120)  # a busy machine starts workers slowly
def test_killed_and_paused(url: str, folder: Path) -> None:
    """Workers are killed, and paused past their leases: losses are told, no promise is broken."""
    with Crew(plan_of(url, folder, ttl=0.6, names=("a",), hold=0.3)) as crew:
        for mode in ("sync", "threads", "async", "sync"):
            crew.start(mode)
        for _ in range(3):
            victim = holder_in(crew)
            with crew.paused(victim):
                until_somebody_else_holds(crew, victim.name)
            crew.replace(holder_in(crew))
        verdict = judged(crew)
    assert verdict.ok, str(verdict)
    assert (verdict.faults["kill"], verdict.faults["pause"]) == (3, 3)
    assert verdict.judged["telling"] > 0


def last_access(crew: Crew) -> str:
    """Say who has last read or written the protected counter."""
    path = crew.folder / "resource-fenced-0.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    line = lines[-1] if lines else ""  # its first writer may not have come to write yet
    return line.partition('"by":"')[2].partition('"')[0].partition(".")[0]


def holder_in(crew: Crew) -> Any:
    """Find a living worker that holds the lock now, or did a moment ago."""

    def found() -> Any:
        name = last_access(crew).partition("-child")[0]
        return next((one for one in crew.workers if one.name == name and one.alive), None)

    return eventually(found, 30, "a holder")


def until_somebody_else_holds(crew: Crew, name: str) -> None:
    """Wait until the lock has passed on."""
    eventually(lambda: last_access(crew) not in {"", name}, 20, "somebody else")


@pytest.mark.timeout(60)
def test_a_lock_that_does_not_lock_is_found_out(url: str, folder: Path) -> None:
    """Workers that each have a space of their own overlap, and that is seen and proved."""
    plan = plan_of(url, folder, names=("a",), turns=25, habits=CALM, hold=0.05)
    with Crew(plan) as crew:
        for number in range(3):
            apart = replace(plan, prefix=f"{plan.prefix}-{number}", seed=number)
            crew.start("sync", apart)
        eventually(lambda: not any(worker.alive for worker in crew.workers), 30, "all turns")
        verdict = judged(crew)
    assert verdict.found["exclusion"] > 0
    assert verdict.found["tokens"] + verdict.found["succession"] > 0
    assert verdict.judged["exclusion"] > 50
    assert "hold 'a' at once" in str(verdict)


def test_a_worker_that_hangs_is_ended_and_found_out(url: str, folder: Path) -> None:
    """It tells where it hung, and its history has no end that would excuse it."""
    plan = plan_of(url, folder, names=("a",), habits=CALM)
    with Client(url, prefix=plan.prefix) as client, client.lock("a"), Crew(plan) as crew:
        worker = crew.start("sync")
        eventually(lambda: client.show("a").waiters == 1, 30, "the worker in line")
        assert crew.send_home(0.2) == [worker]
        assert "holdfast/flows/acquire.py" in worker.log.read_text()
        assert crew.judge().found == {"endings": 1}


def test_whoever_replaces_a_worker_gets_its_plan(url: str, folder: Path) -> None:
    """A worker with a plan of its own is followed by one with the same."""
    plan = plan_of(url, folder)
    slow = replace(plan, ttl=5.0)
    with Crew(plan, environment={"HOLDFAST_URL": "memory://unused"}) as crew:
        worker = crew.start("sync", slow)
        heir = crew.replace(worker)
        assert (worker.plan, heir.plan, heir.mode) == (slow, slow, "sync")
        assert crew.start("sync").plan is plan
        environment = Path(f"/proc/{heir.pid}/environ")
        if environment.exists():
            eventually(lambda: b"HOLDFAST_URL=memory://unused" in environment.read_bytes(), 30)


def test_a_worker_whose_crew_is_gone_does_not_stay(url: str, folder: Path) -> None:
    """Told to stop, and waiting for what never comes, it ends by itself after a while."""
    plan = plan_of(url, folder, names=("a",), habits=CALM, leave_within=0.3)
    with Client(url, prefix=plan.prefix) as client, client.lock("a"), Crew(plan) as crew:
        worker = crew.start("async")
        eventually(lambda: client.show("a").waiters == plan.actors, 30, "the worker in line")
        worker.order_home()
        assert worker.process.wait(15) == 1
        assert "in main" in worker.log.read_text()


def test_a_crew_that_is_left_takes_everybody_along(url: str, folder: Path) -> None:
    """Whoever leaves the crew by an error leaves no process behind."""

    def fail() -> Iterator[Crew]:
        with Crew(plan_of(url, folder)) as crew:
            crew.start("async")
            yield crew
            raise RuntimeError

    failing = fail()
    crew = next(failing)
    with pytest.raises(RuntimeError):
        next(failing)
    assert [worker.alive for worker in crew.workers] == [False]


def test_workers_go_home_when_nobody_listens(url: str, folder: Path) -> None:
    """The end of stdin, which is also the end of the crew's own process, ends a worker."""
    with Crew(plan_of(url, folder)) as crew:
        worker = crew.start("threads")
        eventually(lambda: any(crew.folder.glob("threads-1.*.jsonl")), 30, "the first words")
        worker.order_home()
        began = time.monotonic()
        assert worker.process.wait(10) == 0
        assert time.monotonic() - began < 10
        assert judged(crew).ok
