"""Exit codes of ``holdfast run``: the command's own, or what a shell would say, or ours."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.mark.parametrize("code", [0, 1, 2, 69, 70, 75, 125, 128, 143, 255])
def test_the_commands_own_code_comes_back(shell: Shell, code: int) -> None:
    """Whatever the command says, `run` says too, even where it looks like a code of its own."""
    done = shell.run("run", "job", "--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stderr) == (code, "")
    assert not shell.client().show("job").held


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_command_that_dies_of_a_signal(shell: Shell, signum: signal.Signals) -> None:
    """Death by signal N is 128 + N, as in a shell."""
    done = shell.run("run", "job", "--", "sh", "-c", f"kill -{signum.value} $$")
    assert done.returncode == 128 + signum


def test_the_command_gets_token_and_name(shell: Shell) -> None:
    """The command finds name and fencing token in its environment; later tokens are larger."""
    script = 'echo "$HOLDFAST_NAME $HOLDFAST_TOKEN"'
    first, second = (shell.run("run", "job", "--", "sh", "-c", script).stdout for _ in range(2))
    assert first.split()[0] == second.split()[0] == "job"
    assert int(first.split()[1]) < int(second.split()[1])
    assert shell.client().show("job").token == int(second.split()[1])


def test_the_commands_arguments_are_its_own(shell: Shell) -> None:
    """After -- nothing is read as ours: neither options nor a second --."""
    done = shell.run("run", "job", "--", "printf", "%s,", "--wait", "--", "-h", "a b")
    assert (done.returncode, done.stdout) == (0, "--wait,--,-h,a b,")


def test_stdin_reaches_the_command(shell: Shell) -> None:
    """The command reads what `run` was given."""
    assert shell.run("run", "job", "--", "cat", stdin="hello").stdout == "hello"


@pytest.mark.parametrize("ignored", [signal.SIGPIPE, signal.SIGTTOU, signal.SIGCHLD])
def test_the_command_starts_with_signals_as_usual(shell: Shell, ignored: signal.Signals) -> None:
    """What we or Python ignore for our own sake is not passed down."""
    done = shell.run("run", "job", "--", "grep", "SigIgn", "/proc/self/status")
    assert not int(done.stdout.split()[1], 16) >> (ignored - 1) & 1


def test_a_command_that_does_not_exist(shell: Shell) -> None:
    """Not found is 127, in one line, and the lock is free again."""
    done = shell.run("run", "job", "--", "no-such-command-anywhere")
    assert done.returncode == 127
    assert done.stderr == (
        "holdfast: cannot run 'no-such-command-anywhere': No such file or directory\n"
    )
    assert not shell.client().show("job").held


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "no format at all"])
def test_a_command_that_is_not_executable(shell: Shell, tmp_path: Path, text: str) -> None:
    """Not executable is 126, whether by its mode or by its format."""
    program = tmp_path / "program"
    program.write_text(text, "utf-8")
    program.chmod(0o755 if text.startswith("no") else 0o644)
    done = shell.run("run", "job", "--", str(program))
    assert done.returncode == 126
    assert done.stderr.startswith("holdfast: cannot run ")
    assert not shell.client().show("job").held


def test_busy(shell: Shell) -> None:
    """Busy is 75, says who holds it, and the command is not run."""
    with shell.client().lock("job"):
        done = shell.run("run", "job", "--no-wait", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr.startswith("holdfast: 'job' is busy: held by the test on ")
    assert len(done.stderr.splitlines()) == 1


def test_busy_after_waiting(shell: Shell) -> None:
    """When --wait is over it is busy too, and nothing of the claim is left."""
    client = shell.client()
    with client.lock("job"):
        done = shell.run("run", "job", "--wait", "300ms", "--", "echo", "never")
        assert client.show("job").waiters == 0
    assert (done.returncode, done.stdout) == (75, "")
    assert "after waiting" in done.stderr


def test_busy_code(shell: Shell) -> None:
    """A cron job that may be skipped asks for another code than 75."""
    with shell.client().lock("job"):
        assert shell.run("run", "job", "--no-wait", "--busy-code", "0", "--", "x").returncode == 0


def test_unavailable(tmp_path: Path) -> None:
    """A backend that cannot be reached is 69, in one line that names it, without a traceback."""
    (tmp_path / "file").write_text("not a folder", "utf-8")
    with Shell(tmp_path, f"sqlite:///{tmp_path}/file/locks.db") as shell:
        done = shell.run("run", "job", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("holdfast: ")
    assert len(done.stderr.splitlines()) == 1


def test_nobody_listens_to_stderr(shell: Shell) -> None:
    """A closed stderr does not change the code."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = shell.start("run", "job", "--", "no-such-command-anywhere", stderr=write_end)
    os.close(write_end)
    assert process.wait() == 127
