"""What a history looks like on disk, and what a reader refuses to believe."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.history.form import KINDS, HistoryError
from holdfast.testing.history.judge import judge
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.read import History
from holdfast.testing.history.record import Recorder
from tests.history.tale import Tale

ROOT = Path(__file__).parents[2]


def stay(recorder: Recorder, token: int) -> None:
    """Write down one plain stay."""
    n = recorder.claim()
    recorder.note("ask", n=n, name="x", ttl=1.0, wait=None)
    recorder.note("held", n=n, token=token)
    recorder.note("checked", n=n)
    recorder.note("left", n=n, since=now_ns(), how="released")


def test_what_is_recorded_is_read_in_order_of_time(tmp_path: Path) -> None:
    """Two workers that take turns are merged as they took turns."""
    with Recorder(tmp_path, "a") as one, Recorder(tmp_path, "b") as other:
        for turn in range(10):
            stay(other if turn % 2 else one, turn + 1)
        one.note("end")
        other.note("end")
    moments = [at for at, *_ in History.of(tmp_path, KINDS)]
    assert moments == sorted(moments)
    verdict = judge(tmp_path)
    assert verdict.ok, str(verdict)
    assert (verdict.claims, verdict.operations, verdict.workers) == (10, 30, 2)


def test_the_first_line_says_who_and_where(tmp_path: Path) -> None:
    """Version, worker, process and boot stand in the first line, and whatever else is given."""
    Recorder(tmp_path, "a", seed=7).close()
    first = json.loads((tmp_path / "a.jsonl").read_text())
    assert first["holdfast-history"] == 1
    assert (first["worker"], first["pid"], first["seed"]) == ("a", os.getpid(), 7)
    assert first["boot"]


def test_no_history_is_written_twice(tmp_path: Path) -> None:
    """A second recorder of the same name is refused: it would mix two workers."""
    with Recorder(tmp_path, "a"), pytest.raises(FileExistsError):
        Recorder(tmp_path, "a")


WRITER = """
import sys
from pathlib import Path
from holdfast.testing.history.record import Recorder
recorder = Recorder(Path(sys.argv[1]), "victim")
n = recorder.claim()
recorder.note("ask", n=n, name="x", ttl=1.0, wait=None)
recorder.note("held", n=n, token=1)
recorder.note("checked", n=n)
print("held", flush=True)
while True:
    recorder.note("checked", n=n)
"""


def test_kill_minus_nine_takes_nothing_away(tmp_path: Path) -> None:
    """What was written down before the kill is there, and can be read."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        with Recorder(tmp_path, "crew", role="crew") as crew:
            crew.note("fault", id=1, kind="kill", pids=[writer.pid])
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            crew.note("healed", id=1)
    verdict = judge(tmp_path)
    assert verdict.ok, str(verdict)
    assert verdict.operations >= 2
    assert verdict.judged["exclusion"] >= 1


def test_a_torn_last_line_is_forgiven(tmp_path: Path) -> None:
    """Who was killed while writing has said what stands before it."""
    tale = Tale(tmp_path).hold("a", 1, (10, 20), checks=(15,)).fault(1, "kill", (21, 22), ("a",))
    whole = tale.judged(ends=False)
    path = tmp_path / "a.jsonl"
    path.write_text(path.read_text() + '{"at": 50200')
    verdict = judge(tmp_path)
    assert verdict.ok
    assert verdict.operations == whole.operations
    (tmp_path / "b.jsonl").write_text('{"holdfast-his')
    assert judge(tmp_path).operations == whole.operations


ASKED = '{"at":9000000000,"do":"ask","n":2,"name":"x","ttl":1,"wait":0}\n'
WRONG = {
    "the torn line is not the last": ('{"at": 5\n', "Expecting"),
    "not an object": ("7\n", "not an entry"),
    "no moment": ('{"do": "end"}\n', "not an entry"),
    "a word nobody knows": ('{"at": 9000000000, "do": "dance"}\n', "not an entry"),
    "time runs backwards": ('{"at": 5, "do": "end"}\n', "backwards"),
    "a claim that was not asked for": ('{"at": 9000000000, "do": "busy", "n": 9}\n', "not asked"),
    "asked for twice": (ASKED * 2, "twice"),
    "checked before it is held": (
        f'{ASKED}{{"at":9000000000,"do":"checked","n":2}}\n',
        "cannot follow",
    ),
    "an incomplete order": ('{"at":9000000000,"do":"ask","n":2,"name":"x"}\n', "lacks"),
    "a fault that never began": ('{"at":9000000000,"do":"healed","id":4}\n', "never began"),
}


@pytest.mark.parametrize("title", WRONG)
def test_what_is_no_history_is_refused(tmp_path: Path, title: str) -> None:
    """The error names file and line."""
    Tale(tmp_path).hold("a", 1, (10, 20)).judged()
    added, words = WRONG[title]
    path = tmp_path / "a.jsonl"
    path.write_text(path.read_text() + added)
    with pytest.raises(HistoryError, match=rf"a\.jsonl:\d+.*{words}"):
        judge(tmp_path)


@pytest.mark.parametrize(
    "first, words",
    [
        ('{"holdfast-history": 2, "worker": "b", "pid": 1, "boot": "here"}\n', "version 1"),
        ('{"hello": 1}\n', "version 1"),
        ('{"holdfast-history": 1, "worker": "b", "pid": 1}\n', "lacks"),
        ('{"holdfast-history": 1, "worker": "b", "pid": 1, "boot": "there"}\n', "different hosts"),
    ],
)
def test_what_cannot_be_mixed_is_refused(tmp_path: Path, first: str, words: str) -> None:
    """Another version, or another boot, whose moments mean something else."""
    Tale(tmp_path).hold("a", 1, (10, 20)).judged()
    (tmp_path / "b.jsonl").write_text(first)
    with pytest.raises(HistoryError, match=words):
        judge(tmp_path)


def test_a_long_run_of_many_workers_needs_few_open_files(tmp_path: Path) -> None:
    """Workers that come and go are read as they come and go."""
    tale = Tale(tmp_path)
    for turn in range(300):
        tale.hold(f"w{turn}", turn + 1, (turn * 10 + 5, turn * 10 + 9), checks=(turn * 10 + 7,))
    assert tale.judged().ok
    program = shlex.join([sys.executable, "-m", "holdfast.testing.history", str(tmp_path)])
    command = ["/bin/sh", "-c", f"ulimit -n 32; exec {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "0 violations in 900 operations under 0 faults\n", done.stderr


def test_nothing_is_no_history(tmp_path: Path) -> None:
    """An empty folder is not a success."""
    with pytest.raises(HistoryError, match="no history"):
        judge(tmp_path)


def run_checker(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the checker as a program."""
    command = [sys.executable, "-m", "holdfast.testing.history", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program(tmp_path: Path) -> None:
    """It says 0 for a right history, 1 with the lines for a wrong one, 2 for none."""
    right, wrong, none = (tmp_path / name for name in ("right", "wrong", "none"))
    for folder in (right, wrong, none):
        folder.mkdir()
    Tale(right).hold("a", 1, (10, 20), checks=(15,)).judged()
    Tale(wrong).hold("a", 2, (10, 20)).hold("b", 1, (30, 40)).judged()
    done = run_checker(right)
    assert (done.returncode, done.stdout) == (0, "0 violations in 3 operations under 0 faults\n")
    done = run_checker(wrong)
    assert done.returncode == 1
    assert "tokens: b with token 1 asked for 'x'" in done.stdout
    assert "b.jsonl:3" in done.stdout
    assert json.loads(run_checker(wrong, "--json").stdout)["found"][0]["rule"] == "tokens"
    assert run_checker(none).returncode == 2


def test_the_benchmark_of_the_checker(tmp_path: Path) -> None:
    """A smaller one than `make bench-checker` runs: it judges all of it, and finds it right."""
    command = [sys.executable, "-m", "benchmarks.checker", "--operations", "10000"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 violations in 10,000 operations" in done.stdout
