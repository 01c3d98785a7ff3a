"""``holdfast once``: carried out once per key, and replayed as it was."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell, lines, until

COUNTING = "echo ran >> runs; echo out; echo err >&2; exit {code}"


def runs(shell: Shell) -> int:
    """Count how often the command was carried out."""
    file = shell.folder / "runs"
    return len(file.read_text("utf-8").splitlines()) if file.exists() else 0


def once(shell: Shell, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Carry out the counting command under the key ``k``."""
    return shell.run("once", "k", *options, "--", "sh", "-c", COUNTING.format(code=code))


def test_later_calls_replay_the_first(shell: Shell) -> None:
    """Output and code come back without the command being run."""
    for _ in range(3):
        done = once(shell)
        assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")
    assert runs(shell) == 1


def test_keys_are_apart(shell: Shell) -> None:
    """Another key is another run, and a lock of the same name is no obstacle."""
    with shell.client().lock("k", ttl=60):
        assert once(shell).returncode == 0
    shell.run("once", "other", "--", "sh", "-c", COUNTING.format(code=0))
    assert runs(shell) == 2


def test_a_failure_can_be_tried_again(shell: Shell) -> None:
    """What fails is not kept, so the next call carries it out; then that is kept."""
    assert once(shell, code=3).returncode == 3
    assert once(shell, code=0).returncode == 0
    assert once(shell, code=4).returncode == 0
    assert runs(shell) == 2


def test_a_failure_is_kept_on_request(shell: Shell) -> None:
    """With --store-failures the failure is the outcome."""
    for _ in range(2):
        done = once(shell, "--store-failures", code=3)
        assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert runs(shell) == 1


def test_what_a_signal_ended_is_never_kept(shell: Shell) -> None:
    """Death by a signal is nobody's outcome."""
    command = ("once", "k", "--store-failures", "--", "sh", "-c", "echo ran >> runs; kill -9 $$")
    assert shell.run(*command).returncode == 128 + signal.SIGKILL
    assert shell.run(*command).returncode == 128 + signal.SIGKILL
    assert runs(shell) == 2


def test_it_is_kept_for_as_long_as_was_said(shell: Shell) -> None:
    """When --keep is over it is carried out again."""
    once(shell, "--keep", "100ms")

    def again() -> bool:
        once(shell, "--keep", "100ms")
        return runs(shell) > 1

    until(again)


def test_another_payload_is_refused(shell: Shell) -> None:
    """One key stands for one request."""
    assert once(shell, "--payload", "amount=5").returncode == 0
    assert once(shell, "--payload", "amount=5").returncode == 0
    refused = once(shell, "--payload", "amount=6")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "another payload" in refused.stderr
    assert runs(shell) == 1


def test_who_comes_meanwhile_waits_for_the_outcome(shell: Shell) -> None:
    """Two calls at once: one works, the other gets what came of it; --no-wait is busy."""
    script = "echo ran >> runs; until test -e door; do sleep 0.01; done; echo out"
    first = shell.start("once", "k", "--", "sh", "-c", script)
    until(lambda: runs(shell) == 1)
    second = shell.start("once", "k", "--", "sh", "-c", script)
    client = shell.client()
    until(lambda: client.show("k", space="once").waiters == 1)
    busy = once(shell, "--no-wait")
    assert (busy.returncode, busy.stdout) == (75, "")
    assert busy.stderr.startswith("holdfast: once('k') is busy: held by sh on ")
    assert "show k --space once" in busy.stderr
    shown = shell.run("show", "k", "--space", "once").stdout
    assert shown.startswith("k: once, held\n")
    assert "once('k')" in shell.run("ls").stdout
    (shell.folder / "door").touch()
    assert [next(lines(one)) for one in (first, second)] == ["out", "out"]
    assert (first.wait(), second.wait()) == (0, 0)
    assert runs(shell) == 1


def test_a_killed_worker_is_taken_over(shell: Shell) -> None:
    """Kill -9 of the first: the one in line carries it out."""
    script = "echo ran >> runs; test -e door || sleep 60; echo out"
    first = shell.start("once", "k", "--ttl", "4s", "--", "sh", "-c", script)
    until(lambda: runs(shell) == 1)
    second = shell.start("once", "k", "--ttl", "4s", "--", "sh", "-c", script)
    client = shell.client()
    until(lambda: client.show("k", space="once").waiters == 1)
    (shell.folder / "door").touch()
    first.kill()
    assert next(lines(second)) == "out"
    assert second.wait() == 0
    assert runs(shell) == 2
    assert once(shell).stdout == "out\n"


def test_much_output_is_passed_on_and_cut_where_it_is_kept(shell: Shell) -> None:
    """The first call shows everything; a replay shows what was kept, and says so."""
    script = "yes 0123456789 | head -c 600000"
    first = shell.run("once", "k", "--", "sh", "-c", script)
    assert (first.returncode, len(first.stdout)) == (0, 600_000)
    again = shell.run("once", "k", "--", "sh", "-c", script)
    assert (again.returncode, len(again.stdout)) == (0, 256 * 1024)
    assert again.stdout == first.stdout[: 256 * 1024]
    assert "256 KiB" in again.stderr


def test_bytes_are_bytes(shell: Shell) -> None:
    """What is no text is replayed as it was."""
    command = [*shell_command(shell), "once", "k", "--", "printf", r"\000\377\n"]
    outputs = [
        subprocess.run(command, cwd=shell.folder, env=shell.env, capture_output=True, check=True)
        for _ in range(2)
    ]
    assert [done.stdout for done in outputs] == [b"\x00\xff\n"] * 2


def shell_command(_shell: Shell) -> tuple[str, ...]:
    """Give the program as the shell starts it."""
    from tests.cli.shell import PROGRAM

    return PROGRAM


@pytest.mark.parametrize("command", ["no-such-command-anywhere", "/"])
def test_a_command_that_cannot_be_run(shell: Shell, command: str) -> None:
    """It is said in one line, nothing is kept, and the key is free."""
    done = shell.run("once", "k", "--store-failures", "--", command)
    assert done.returncode in {126, 127}
    assert len(done.stderr.splitlines()) == 1
    assert once(shell).stdout == "out\n"


def test_nobody_reads(shell: Shell, tmp_path: Path) -> None:
    """A reader that has gone away does not change what is kept."""
    script = "echo ran >> runs; yes | head -c 100000; echo end >> runs"
    process = shell.start("once", "k", "--", "sh", "-c", script)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 0
    assert (tmp_path / "runs").read_text("utf-8") == "ran\nend\n"
    assert len(shell.run("once", "k", "--", "false").stdout) == 100_000


def test_what_python_has_stored_is_not_replayed(shell: Shell) -> None:
    """A key that stands for something else is refused in words."""
    shell.client().once("k").run(lambda: 5)
    done = once(shell)
    assert (done.returncode, runs(shell)) == (2, 0)
    assert "was not stored by" in done.stderr
