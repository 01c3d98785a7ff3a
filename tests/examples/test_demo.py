"""`make demo` as a person runs it, and proof that each of its checks can fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.demo import verdict
from examples.demo.verdict import PassedOn, Pause

ROOT = Path(__file__).parents[2]

WENT_WELL = Pause(
    paused="dee",
    rival="eve",
    lost_token=1,
    told_after=0.001,
    rival_token=2,
    rival_undisturbed=True,
)


def demo(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the demo with a state folder of its own."""
    env = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    env["HOLDFAST_URL"] = "memory://"  # the demo shows the embedded default whatever this says
    command = [sys.executable, "-m", "examples.demo", *options]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.serial
def test_the_demo_holds_what_it_says(tmp_path: Path) -> None:
    """It shows every act, ends by itself with 0, and its output is plain text."""
    done = demo(tmp_path)
    acts, _, summary = done.stdout.partition("\nSummary\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for shown in ("holds, ", "wait", "SIGKILL", "SIGSTOP", "SIGCONT", "is told"):
        assert shown in acts
    assert [line[:6] for line in summary.splitlines()[:-1]] == ["  ok  "] * 4
    assert "100 of 100" in summary
    assert "\x1b" not in done.stdout


@pytest.mark.serial
def test_the_demo_fails_without_the_lock(tmp_path: Path) -> None:
    """Without the lock increments are lost, the summary says so, and the exit code is 1."""
    done = demo(tmp_path, "--unlocked")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL  4 processes added 25 each to a shared counter" in done.stdout
    assert "1 of 2 checks failed" in done.stdout


def test_a_lost_increment_is_noticed() -> None:
    """A counter that is too small, or too large, fails the check."""
    assert verdict.counted(4, 25, 100).held
    assert not verdict.counted(4, 25, 99).held
    assert not verdict.counted(4, 25, 101).held


@pytest.mark.parametrize("after", [None, 1.6])
def test_a_lock_that_is_not_passed_on_is_noticed(after: float | None) -> None:
    """A dead holder's lock that passes on late or never fails the check."""
    assert verdict.passed_on(PassedOn(victim="ann", heir="bob", ttl=10, after=1.0)).held
    assert not verdict.passed_on(PassedOn(victim="ann", heir="bob", ttl=10, after=after)).held


@pytest.mark.parametrize(
    "lost_token,rival_token,undisturbed",
    [(0, 2, True), (1, 0, True), (2, 2, True), (3, 2, True), (1, 2, False)],
)
def test_a_paused_holder_that_goes_on_is_noticed(
    *, lost_token: int, rival_token: int, undisturbed: bool
) -> None:
    """Not told, no rival, a token that is not smaller, or a disturbed rival fail the check."""
    assert verdict.told(WENT_WELL).held
    what = Pause(
        paused="dee",
        rival="eve",
        lost_token=lost_token,
        told_after=0.001,
        rival_token=rival_token,
        rival_undisturbed=undisturbed,
    )
    assert not verdict.told(what).held


def test_what_is_left_behind_is_noticed() -> None:
    """A lock or a process that is still there fails the check, and is named."""
    assert verdict.tidy([], []).held
    assert "demo:1:counter" in verdict.tidy(["demo:1:counter"], []).said
    assert not verdict.tidy(["demo:1:counter"], []).held
    assert not verdict.tidy([], [4711]).held
