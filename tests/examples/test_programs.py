"""The small example programs, run as a person would: each checks itself and ends with 0."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SAYS = {
    "migrations": ["is killed in the middle of 0002-state", "3 migrations, each made once"],
    "queue_workers": ["is killed in the middle of it", "6 of 6 tasks done"],
    "standby": ["SIGTERM to", "SIGKILL to", "led in turn: "],
    "gpu_slots": ["train on GPU 0 and 1", "5 jobs done, 0 clashes"],
    "warehouse": ["counted [30, 30, 30, 30, 30]"],
}


def test_every_program_is_run() -> None:
    """A program that is added is tested, here or in ``test_examples``."""
    found = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"__init__"}
    elsewhere = {"coupon", "webhook", "daily_report", "api_quota", "redemption"}
    assert found == set(SAYS) | elsewhere


@pytest.mark.timeout(60)  # real processes, on a machine that is busy
@pytest.mark.parametrize("program", SAYS)
def test_a_program_does_what_it_says(program: str) -> None:
    """It ends by itself with 0, quietly, and shows what it is about."""
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{program}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [said for said in SAYS[program] if said not in done.stdout] == []
