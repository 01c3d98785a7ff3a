"""Standard streams that are full or closed: a line, a code, and nothing left behind."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import PROGRAM, Shell

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def redirected(
    shell: Shell, how: str, *args: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run ``holdfast`` with its streams redirected as a shell does it."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {how}', "sh", *PROGRAM, *args],
        cwd=shell.folder,
        env=shell.env,
        input=stdin,
        text=True,
        capture_output=True,
        check=False,
    )


@needs_full
@pytest.mark.parametrize(
    "args",
    [
        ("ls",),
        ("ls", "--json"),
        ("show", "other"),
        ("acquire", "job", "--ttl", "1h"),
        ("acquire", "job", "--ttl", "1h", "--json"),
        ("once", "done", "--", "true"),
    ],
)
def test_a_full_disk(shell: Shell, args: tuple[str, ...]) -> None:
    """What cannot be written is told in one line, with a code of its own; nothing stays held."""
    assert shell.run("once", "done", "--", "echo", "out").returncode == 0
    done = redirected(shell, ">/dev/full", *args)
    said = "holdfast: cannot write the output: No space left on device\n"
    assert (done.returncode, done.stderr) == (74, said)
    assert shell.client().locks() == []


@pytest.mark.parametrize(
    "args",
    [("ls",), ("show", "job"), ("acquire", "job", "--ttl", "1h"), ("once", "done", "--", "true")],
)
@pytest.mark.parametrize("how", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_stdout(shell: Shell, how: str, args: tuple[str, ...]) -> None:
    """What nobody can read was not written, and nothing stays held."""
    assert shell.run("once", "done", "--", "echo", "out").returncode == 0
    done = redirected(shell, how, *args)
    said = "" if "2" in how else "holdfast: cannot write the output: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (74, said)
    assert shell.client().locks() == []


@pytest.mark.parametrize("how", ["2>&-", "<&- >&- 2>&-"])
def test_no_stderr(shell: Shell, how: str) -> None:
    """Where nothing can be said the code is still the right one."""
    with shell.client().lock("job", ttl=60):
        assert redirected(shell, how, "run", "job", "--no-wait", "--", "true").returncode == 75
    assert redirected(shell, how, "run", "--no-such-option").returncode == 2


@pytest.mark.parametrize("command", ["renew", "release"])
def test_no_stdin(shell: Shell, command: str) -> None:
    """Where there is no stdin there is no handle."""
    done = redirected(shell, "<&-", command, "-")
    assert done.returncode == 2
    assert done.stderr.startswith("holdfast: this is not a handle")


@pytest.mark.parametrize("command", ["run", "lead", "once"])
@pytest.mark.parametrize("how", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_without_streams(shell: Shell, command: str, how: str) -> None:
    """What the command prints goes nowhere, and into no file that we have opened."""
    script = "echo err >&2; cat; echo out; touch ran; exit 0"
    options = ("--once",) if command == "lead" else ()
    done = redirected(shell, how, command, "job", *options, "--", "sh", "-c", script)
    assert done.returncode == 0
    assert (shell.folder / "ran").exists()
    assert shell.client().locks() == []
