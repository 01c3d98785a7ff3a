"""The benchmarks still run. What they measure on a busy machine is not asked here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.figures import Aim, Figure, Value, table
from benchmarks.postgres.run import WORKLOADS as POSTGRES_WORKLOADS
from benchmarks.redis.limited import FIXED, MOVING
from benchmarks.redis.run import WORKLOADS as REDIS_WORKLOADS
from benchmarks.redis.stations import ASKS, BEGUN, INSIDE, READ, SERVER, SETTLED, WAKES
from benchmarks.rounds import interleaved
from benchmarks.run import WORKLOADS

pytestmark = [pytest.mark.serial, pytest.mark.timeout(60)]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_runs(workload: str, tmp_path: Path) -> None:
    """A quick run measures the workload, shows it in the table and writes it down."""
    record = tmp_path / "record.json"
    command = [sys.executable, "-m", "benchmarks.run", workload, "--quick", "--json", str(record)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(record.read_text("utf-8"))["figures"]
    assert figures
    assert all(figure["what"] in done.stdout for figure in figures)


@pytest.mark.parametrize("workload", REDIS_WORKLOADS)
def test_every_redis_workload_runs(workload: str, tmp_path: Path) -> None:
    """A quick run on a server of its own measures the workload and writes it down."""
    record = tmp_path / "record.json"
    command = [sys.executable, "-m", "benchmarks.redis.run", "--quick"]
    command += ["--only", workload, "--json", str(record)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(record.read_text("utf-8"))["figures"]
    assert figures
    assert all(figure["what"] in done.stdout for figure in figures)


@pytest.mark.parametrize(
    "program, callers", [("layers", "--tasks"), ("thread_layers", "--threads")]
)
def test_the_layers_of_a_cycle_are_measured(program: str, callers: str) -> None:
    """A short run names every layer, with what it cost on both sides."""
    command = [sys.executable, "-m", f"benchmarks.redis.{program}", callers, "2", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if "client" in line and "server" in line]
    assert [line.split("client")[0].strip() for line in shown] == [
        "bare pair",
        "scripts",
        "wire",
        "lock",
    ]


def test_the_layers_of_a_permit_are_measured() -> None:
    """A short run names every layer and both rivals, for threads and for tasks."""
    command = [sys.executable, "-m", "benchmarks.redis.permit_layers"]
    command += ["--threads", "1", "--tasks", "2", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if "client" in line and "server" in line]
    layers = ["bare counter", "script", "wire", "limiter"]
    assert [line.split("client")[0].strip() for line in shown] == [*layers, FIXED, MOVING] * 2


def test_the_stations_of_a_hand_over_are_shown() -> None:
    """A short run shows for threads and for tasks when each was passed."""
    command = [sys.executable, "-m", "benchmarks.redis.stations", "--seconds", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for station in (ASKS, SERVER, WAKES, READ, SETTLED, BEGUN, INSIDE):
        assert done.stdout.count(station) == 2, done.stdout


@pytest.mark.parametrize("workload", POSTGRES_WORKLOADS)
def test_every_postgres_workload_runs(workload: str, tmp_path: Path) -> None:
    """A quick run on servers of its own measures the workload and writes it down."""
    record = tmp_path / "record.json"
    command = [sys.executable, "-m", "benchmarks.postgres.run", "--quick"]
    command += ["--only", workload, "--json", str(record)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(record.read_text("utf-8"))["figures"]
    assert figures
    assert all(figure["what"] in done.stdout for figure in figures)


def test_a_missed_aim_is_said() -> None:
    """The table says which aims were missed, in a word that stands out."""
    slow, quick = Value(0.5, "times"), Value(0.7, "times")
    aim = Aim("at least", Value(0.6, "times"))
    rows = [Figure(what="a cycle", ours=one, result=one, aim=aim) for one in (slow, quick)]
    _, _, missed, met = table(rows).splitlines()
    assert missed.endswith("MISSED")
    assert met.endswith("met")


def test_rivals_take_turns() -> None:
    """After the warm-up every rival is measured once a round, and none always goes first."""
    order: list[str] = []

    def rival(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = interleaved({"a": lambda: rival("a"), "b": lambda: rival("b")}, rounds=2)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert samples == {"a": [3.0, 6.0], "b": [4.0, 5.0]}
