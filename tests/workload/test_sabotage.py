"""The library spoilt in one place at a time: real workers show it, and the checker says which rule.

This is the proof that a verdict of 0 violations means something.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workload.sabotaged import SABOTAGES

ROOT = Path(__file__).parents[2]

FOUND = {
    "nothing": set(),
    "room for everybody": {"exclusion", "succession"},
    "last come, first served": {"order"},
    "the same token for all": {"tokens"},
    "believing too long": {"succession"},
    "losing in silence": {"telling"},
    "nobody passes it on": {"endings"},
    "adding blindly": {"updates"},
    "doing it again": {"results", "slots"},
    "spending what is reserved": {"rates"},
}


def verdict_on(sabotage: str, folder: Path) -> dict[str, Any]:
    """Let a crew work on the spoilt library, and give the verdict."""
    command = [sys.executable, "-m", "tests.workload.sabotaged", sabotage, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


@pytest.mark.timeout(60)
@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_it_is_found_out(tmp_path: Path, sabotage: str) -> None:
    """What is spoilt is found; where nothing is spoilt nothing is."""
    verdict = verdict_on(sabotage, tmp_path)
    found = {violation["rule"] for violation in verdict["found"]}
    assert FOUND[sabotage] <= found, verdict
    assert bool(found) == (sabotage != "nothing"), verdict
