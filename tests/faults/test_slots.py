"""Twenty processes whose clocks disagree by a minute: one completed run per slot, none left out."""

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Client, Outcome
from tests.faults.processes import Program
from tests.servers.shared import shared_server
from tests.servers.shared_postgres import shared_postgres

WORKERS = 20
PER = 1.0


def sqlite(folder: Path) -> str:
    """Give a file of its own."""
    return f"sqlite:///{folder / 'locks.db'}"


def redis(_folder: Path) -> str:
    """Give the server, which other tests use too."""
    return shared_server().url(quarantine=0)


def postgres(_folder: Path) -> str:
    """Give that server, which other tests use too."""
    return shared_postgres().url(quarantine=0)


BACKENDS = [sqlite, redis]
EVERYWHERE = [*BACKENDS, postgres]
"""For the long runs, which are not part of the usual ones."""


def slots_completed(url: str, seconds: float, kills: int, dice: random.Random) -> list[int]:
    """Let the workers run for so long, killing some of them on the way."""
    name = f"job:{uuid4()}"
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Program("slots", url=url, name=name, per=PER, worker=number))
            for number in range(WORKERS)
        ]
        for worker in workers:
            worker.hear(60)
        doomed = dice.sample(workers, kills)
        for one in doomed:
            time.sleep(seconds / (kills + 1))  # it is time itself that passes here
            one.kill()
        time.sleep(seconds / (kills + 1))
        alive = [worker for worker in workers if worker not in doomed]
        for worker in alive:
            worker.say()
        said = [fact for worker in alive for fact in until_stopped(worker)]
        said += [fact for worker in doomed for fact in worker.heard()]
    return sorted(fact["slot"] for fact in said if "slot" in fact)


def until_stopped(worker: Program) -> list[dict[str, Any]]:
    """Give everything that a worker has to say before it stops."""
    facts = []
    while "stopped" not in (fact := worker.hear(30)):
        facts.append(fact)
    return facts


def assert_one_per_slot(slots: list[int], at_least: int) -> None:
    """See that no slot was completed twice, and none between the first and the last not at all."""
    assert len(slots) >= at_least, slots
    gaps = [after - before for before, after in pairwise(slots)]
    assert set(gaps) == {int(PER * 1e6)}, gaps


@pytest.mark.serial
@pytest.mark.timeout(120)
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_completed_run_per_slot(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """For six seconds, with three of the twenty killed."""
    slots = slots_completed(backend(tmp_path), 6.0, 3, random.Random(7))
    assert_one_per_slot(slots, 5)


@pytest.mark.soak
@pytest.mark.parametrize("backend", EVERYWHERE)
@pytest.mark.parametrize("seed", range(3))
def test_one_completed_run_per_slot_for_half_a_minute(
    backend: Callable[[Path], str], tmp_path: Path, seed: int
) -> None:
    """For thirty seconds, with ten of the twenty killed, one after the other."""
    slots = slots_completed(backend(tmp_path), 30.0, 10, random.Random(seed))
    assert_one_per_slot(slots, 29)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_crash_inside_of_a_slot_frees_it(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """A copy that is killed in the middle of its run has completed nothing: the next one runs."""
    url, name = backend(tmp_path), f"crash:{tmp_path}"
    with Program("dying", url=url, name=name, ttl=0.5) as dying:
        assert dying.hear()["at_work"]
        dying.kill()
        with Client(url) as client:
            next_one = client.singleton(name, "365d", "wait", wait=10)
            assert next_one.run(lambda: "done") == Outcome(executed=True, result="done")
            assert not next_one.run(lambda: "again").executed
